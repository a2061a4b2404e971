package preprocess

import (
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features"
)

func TestKnotsAreValuesOrQuantiles(t *testing.T) {
	var many []float32
	for i := range 1000 {
		many = append(many, float32(i))
	}
	if got, want := hatKnots(many, 4), (features.Floats{125, 375, 625, 875}); !slices.Equal(got, want) {
		t.Errorf("knots %v, want %v", got, want)
	}
	if got, want := hatKnots([]float32{1, 1, 2, 5, 5}, 4), (features.Floats{1, 2, 5}); !slices.Equal(got, want) {
		t.Errorf("knots %v, want %v", got, want)
	}
	x := []float32{0, 3, 1, 0, 3, 2, 1, 3, 3, 1, 3, 4} // two values, one value, four
	if got := NewPiecewiseLinear(x, 4, 3, 100); got == nil || len(got.Columns) != 1 || got.Columns[0].Index != 2 {
		t.Errorf("hats %+v, want hats of column 2 only", got)
	}
	three := slices.Concat(many, many, many)
	if _, out := NewPiecewiseLinear(three, 1000, 3, 95).Dims(); out != 93 {
		t.Errorf("%d hats of three columns, want 31 of each", out)
	}
	if NewPiecewiseLinear(three, 1000, 3, 11) != nil {
		t.Error("three columns have hats of 3 knots each")
	}
}

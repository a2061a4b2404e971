package gram

import (
	"slices"
	"testing"
)

func TestPartsComeBackAsTheyWere(t *testing.T) {
	for _, c := range []struct {
		values []float64
		width  int
	}{
		{nil, 1},
		{[]float64{0, 1, -1, 127, -128}, 1},
		{[]float64{128, -5, 3}, 2},
		{[]float64{-129}, 2},
		{[]float64{0, 1, -1, 1<<31 - 1, -1 << 31}, 4},
		{[]float64{0, 1 << 31, -7, 12}, 5},
		{[]float64{-1<<31 - 1}, 5},
		{[]float64{1<<39 - 1, -1 << 39, 1, 2, 3, 4, 5, 6, 7}, 5},
		{[]float64{1 << 39}, 6},
		{[]float64{1 << 53, -1 << 53, 3}, 7},
		{[]float64{0.5, 1 << 53}, 8},
		{[]float64{1 << 62}, 8},
	} {
		data := EncodePart(c.values)
		if want := 1 + c.width*len(c.values); len(data) != want {
			t.Errorf("%v: %d bytes, want %d", c.values, len(data), want)
		}
		got, err := DecodePart(data)
		if err != nil || !slices.Equal(got, c.values) {
			t.Errorf("%v came back as %v, %v", c.values, got, err)
		}
	}
}

func TestDamagedPartsAreErrors(t *testing.T) {
	for _, data := range [][]byte{nil, {0}, {3, 1, 2}, {16}, {9, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {4, 1}, {4, 1, 2, 3, 4, 5}, {8, 1, 2, 3, 4}} {
		if p, err := DecodePart(data); err == nil {
			t.Errorf("% x: %v", data, p)
		}
	}
}

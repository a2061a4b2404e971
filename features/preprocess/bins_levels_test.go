package preprocess

import (
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
)

// The second of three columns has the levels 1, 2 and 7; other numbers count as the next one below.
var places = BinLevels{In: 3, Columns: []BinColumn{{1, features.Floats{2, 7}}}, Weight: 0.5}

func TestBinLevelsReplaceNumbersByTheirLevel(t *testing.T) {
	r := features.Chain{Steps: []features.Recipe{places, fourier.Gaussian{In: 6, Out: 4, Width: 1}}}
	sealed, err := features.Seal(r)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := sealed.Open()
	if err != nil {
		t.Fatal(err)
	}
	m, err := opened.(features.Chain).Steps[0].New()
	if err != nil {
		t.Fatal(err)
	}
	x := []float32{9, 1, -3, 9, 2, -3, 9, 6, -3, 9, 7, -3, 9, -100, 0}
	want := []float32{
		9, 0, -3, 0.5, 0, 0,
		9, 0, -3, 0, 0.5, 0,
		9, 0, -3, 0, 0.5, 0,
		9, 0, -3, 0, 0, 0.5,
		9, 0, 0, 0.5, 0, 0,
	}
	have := make([]float32, len(want))
	if m.Apply(have, x, 5); !slices.Equal(have, want) {
		t.Errorf("rows are %v, want %v", have, want)
	}
	kept := places
	kept.Keep = true
	both, err := kept.New()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		want[6*i+1] = x[3*i+1]
	}
	if both.Apply(have, x, 5); !slices.Equal(have, want) || kept.Replaces(1) || !places.Replaces(1) {
		t.Errorf("with the numbers rows are %v, want %v", have, want)
	}
	for j, want := range [][2]int{{0, 0}, {1, 0}, {2, 0}, {1, 3}, {1, 3}, {1, 3}} {
		if c, levels := places.Origin(j); c != want[0] || levels != want[1] {
			t.Errorf("number %d is of column %d with %d levels, want %v", j, c, levels, want)
		}
	}
}

func TestInvalidLevelsAreNamed(t *testing.T) {
	for want, change := range map[string]func(r *BinLevels){
		"two cuts":   func(r *BinLevels) { r.Columns[0].Cuts = r.Columns[0].Cuts[:1] },
		"there once": func(r *BinLevels) { r.Columns = append(r.Columns, r.Columns[0]) },
		"weight":     func(r *BinLevels) { r.Weight = 0 },
		"index":      func(r *BinLevels) { r.Columns[0].Index = 3 },
	} {
		r := places
		r.Columns = slices.Clone(r.Columns)
		change(&r)
		if _, err := r.New(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, have %v", want, err)
		}
	}
}

package features_test

import (
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/preprocess"
)

// A chain passes rows in the short form between its steps if all of them allow it and it pays.
func TestChainsUseTheShortFormWherePossible(t *testing.T) {
	category := func(levels int) preprocess.Columns {
		return preprocess.Columns{Slots: []preprocess.Slot{{Number: &preprocess.Number{}},
			{OneHot: &preprocess.OneHot{Values: levels, Weight: 1}}}}
	}
	gaussian := func(d int, draw fourier.Draw) features.Recipe {
		return fourier.Gaussian{In: d, Out: 8, Width: 1, Draw: draw}
	}
	ones := slices.Repeat([]float32{1}, 31)
	for name, c := range map[string]struct {
		steps []features.Recipe
		want  int
	}{
		"categories": {[]features.Recipe{category(30), gaussian(31, fourier.Iid)}, 2},
		"orthogonal": {[]features.Recipe{category(30), gaussian(31, fourier.Orthogonal)}, 2},
		"standard": {[]features.Recipe{category(30), preprocess.Standard{Mean: make([]float32, 31), Dev: ones},
			gaussian(31, fourier.Iid)}, 2},
		"two scalings": {[]features.Recipe{category(30), preprocess.Divide{In: 31, By: 2},
			preprocess.MinMax{Low: make([]float32, 31), High: ones}, gaussian(31, fourier.Iid)}, 2},
		"few levels":    {[]features.Recipe{category(3), gaussian(4, fourier.Iid)}, 4},
		"structured":    {[]features.Recipe{category(30), gaussian(31, fourier.Structured)}, 31},
		"mixed columns": {[]features.Recipe{category(30), preprocess.Unit{In: 31}, gaussian(31, fourier.Iid)}, 31},
		"shifted zeros": {[]features.Recipe{category(30), preprocess.Standard{Mean: ones, Dev: ones},
			gaussian(31, fourier.Iid)}, 31},
		"no categories": {[]features.Recipe{preprocess.Divide{In: 31, By: 2}, gaussian(31, fourier.Iid)}, 31},
	} {
		m, err := (features.Chain{Steps: c.steps}).New()
		if err != nil {
			t.Fatal(name, err)
		}
		if have := features.LastIn(m); have != c.want {
			t.Errorf("%s: the last map takes rows of %d, want %d", name, have, c.want)
		}
	}
}

package ridge_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
)

// Fit accepts rows in memory with missing values if the map does.
func TestFitTakesMissingValuesOfColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	d := &linear.Data{}
	for i := range 400 {
		x, level := float32(r.NormFloat64()), float32(r.IntN(20))
		if i%7 == 0 {
			x = float32(math.NaN())
		}
		d.X, d.Class = append(d.X, x, level), append(d.Class, int32(level)%2)
	}
	m, err := (features.Chain{Steps: []features.Recipe{
		preprocess.Columns{Slots: []preprocess.Slot{{Number: &preprocess.Number{Missing: 1}},
			{OneHot: &preprocess.OneHot{Values: 20, Weight: 1}}}},
		fourier.Gaussian{In: 22, Out: 200, Width: 2, Seed: 1},
	}}).New()
	if err != nil {
		t.Fatal(err)
	}
	d.Map = m
	f, err := ridge.Fit(d, []float64{1e-4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]int32, len(d.Class))
	f.Classes(out, d.X, len(out))
	for i, c := range out {
		if c != d.Class[i] {
			t.Fatalf("row %d: class %d, want %d", i, c, d.Class[i])
		}
	}
	if d.Map, err = (fourier.Gaussian{In: 2, Out: 10, Width: 1}).New(); err != nil {
		t.Fatal(err)
	}
	if _, err := ridge.Fit(d, []float64{1}, nil); err == nil {
		t.Error("NaN accepted by a map of numbers")
	}
}

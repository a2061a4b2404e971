package ridge_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
)

// Copies of a row with the same coin flip predict the flip if rows are held out one by one, and do not if the
// copies are one group.
func TestGroupsOfRowsInMemoryAreHeldOutTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	m, err := fourier.Gaussian{In: 2, Out: 256, Width: 0.3, Seed: 1}.New()
	if err != nil {
		t.Fatal(err)
	}
	d := &linear.Data{Map: m}
	var groups []string
	for g := range 120 {
		x, y, class := r.NormFloat64(), r.NormFloat64(), int32(r.IntN(2))
		for range 8 {
			d.X = append(d.X, float32(x+0.01*r.NormFloat64()), float32(y+0.01*r.NormFloat64()))
			d.Class, groups = append(d.Class, class), append(groups, fmt.Sprint("g", g))
		}
	}
	least := func() (mse float64) {
		fit, err := ridge.Fit(d, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		mse = fit.Table[0].MSE
		for _, row := range fit.Table {
			mse = min(mse, row.MSE)
		}
		return mse
	}
	alone := least()
	d.Groups = groups
	together := least()
	if alone > 0.5 || together < 1.9 { // of ±1 codes of two classes: 2 for a constant
		t.Errorf("held-out squared error %.3f by rows, %.3f by groups", alone, together)
	}
	for i := range groups {
		groups[i] = groups[i][:1]
	}
	if _, err := ridge.Fit(d, nil, nil); err == nil {
		t.Error("one group in five folds")
	}
}

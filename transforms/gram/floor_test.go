package gram

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/transforms"
)

// Features with separate ranges are not rounded more coarsely than features of one range: a path that leads to
// a common λ is fitted on 8 bits, a path far below is not.
func TestOnlyAPathBelowTheRoundingIsTooCoarse(t *testing.T) {
	const n, d = 600, 3
	m, err := preprocess.Join{Parts: []features.Recipe{
		fourier.Gaussian{In: d, Out: 1024, Width: 1, Seed: 1},
		preprocess.Bins{In: d, PiecewiseLinear: true, Weight: 0.03,
			Columns: []preprocess.BinColumn{{Index: 0, Cuts: features.Floats{0, 0.25, 0.5, 0.75, 1}}}},
	}}.New()
	if err != nil {
		t.Fatal(err)
	}
	g := m.(features.Ranged)
	_, dim := g.Dims()
	shape := ridge.Shape{Dim: dim, Outputs: 1, Regression: true}
	target := linear.Grids{{Low: -2, High: 2}}
	rng := rand.New(rand.NewPCG(1, 1))
	var sums [2]*ridge.Sum
	for f := range sums {
		x, y := make([]float32, n*d), make([]float64, n)
		for i := range y {
			for j := range d {
				x[i*d+j] = rng.Float32()
			}
			y[i] = math.Sin(3*float64(x[i*d])) + float64(x[i*d+1]*x[i*d+2])
		}
		z := features.NewGrid(dim, features.ByteSteps)
		g.Quantize(z, x, n, 1)
		sums[f] = ridge.NewSum(shape)
		sums[f].Add(z, y, target, nil, 1)
	}
	for _, path := range [][]float64{{1e-6, 3e-6, 1e-5, 3e-5}, {1e-11, 1e-10, 1e-9, 1e-8}} {
		p := &Pass{Pass: transforms.Pass{Target: &transforms.Labeling{Grid: target}},
			Spec: Spec{Outputs: 1, FoldPlan: ridge.FoldPlan{Folds: 2, Validation: ridge.FirstFold},
				SolveOptions: SolveOptions{LambdaSearch: ridge.LambdaSearch{Lambda: path}, MayRefine: true}, Steps: features.ByteSteps}}
		s := &solver{pass: p, m: g, threads: 1, source: ridge.Source{Shape: shape,
			Add: func(to *ridge.Sum, fold int) error { to.Merge(sums[fold]); return nil }}}
		_, report, err := s.ridge()
		if err != nil {
			t.Fatal(err)
		}
		if want := path[0] < 1e-6; report.Coarse != want {
			t.Errorf("a path from %g on leads to %g, which is too coarse: %v, want %v", path[0], report.Lambda,
				report.Coarse, want)
		}
	}
}

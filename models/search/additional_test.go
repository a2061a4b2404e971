package search

import (
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/kerneltest"
)

// Piecewise-linear columns find steps of single columns. A narrow kernel of a pair finds a rough function of two of
// several columns.
func TestSearchFindsLinearPartsNextToAKernel(t *testing.T) {
	campaign.Long(t)
	step := func(x float32) float64 {
		if x > 0.3 {
			return 1
		}
		return -1
	}
	for _, c := range []struct {
		name string
		n    int
		of   func(x []float32) float64
		has  func(c Candidate) bool
	}{
		{"piecewise-linear columns", 700, func(x []float32) float64 {
			return step(x[0]) + step(x[1]) + step(-x[2]) + math.Sin(4*float64(x[3])) + math.Abs(float64(x[4]))
		}, func(c Candidate) bool { return c.PiecewiseLinear }},
		{"pair", 700, func(x []float32) float64 {
			return math.Sin(5*float64(x[1]))*math.Sin(5*float64(x[3])) + 0.3*float64(x[0]) + 0.5*float64(x[1]+x[3])
		}, func(c Candidate) bool { return c.Pair > 0 }},
	} {
		p := made(c.n, 5, 0.05, c.of)
		o := options(p)
		o.Views, o.Kernels = o.Views[:1], o.Kernels[:1]
		r := run(t, p, o)
		if !c.has(r.Chosen.Candidate) || r.Joined == nil || r.Chosen.Loss > 0.9*r.Default.Loss {
			t.Errorf("%s: chose %v with loss %.4f, the default has %.4f", c.name, r.Chosen.Candidate, r.Chosen.Loss,
				r.Default.Loss)
		}
	}
}

// A search returns the kernel that it tried: exact kernel matrices agree with the recipe of
// features.
func TestMatricesMatchJoinedKernels(t *testing.T) {
	p := made(60, 3, 0.1, ridgeLine)
	o := options(p)
	r := &runner{pilot: p, options: o, views: map[string]*viewRows{},
		kernels: map[string]kernelOf{"gaussian": {options: o.Kernels[0], distance: kernel.Euclidean}}}
	v, err := newViewRows(p, o.Views[0], 1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	r.views["none"] = v
	pairs := []*pair{v.newPair([2]int{0, 2})}
	for _, c := range []Candidate{{Pair: 0.25}, {PiecewiseLinear: true}, {Pair: 0.5, PiecewiseLinear: true}} {
		c.View, c.Kernel, c.Width = "none", "gaussian", 1
		e := &entry{Candidate: c, pairs: pairs}
		const width = 1.7
		e.matrix = newKernelMatrix(fourier.GaussianAt, v.distances(kernel.Euclidean, whole(p), 1), width,
			make([]float64, triangle(p.N)))
		if err := (&foldTrial{r, e, nil, 0, new(scratch), 1}).addJoined(); err != nil {
			t.Fatal(err)
		}
		joined, err := r.joinedOf(e, 0)
		if err != nil {
			t.Fatal(err)
		}
		joined.Kernel, joined.Features = &fourier.GaussianOptions{Width: width}, 512
		chosen, err := joined.Choose(&kernel.Data{In: p.D, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, out, err := features.Dims(chosen.Recipe); err != nil || out > 512 || out < 512-2*leastMain {
			t.Errorf("%v: %d of at most 512 features, %v", c, out, err)
		}
		again := chosen.Draw(256, 2)
		if _, out, err := features.Dims(again); err != nil || out > 256 {
			t.Errorf("%v: drawn with %d of at most 256 features, %v", c, out, err)
		}
		for i := range p.N {
			for j := range p.N {
				got, want := e.matrix.K[triangle(max(i, j))+min(i, j)], kerneltest.Kernel(chosen.Recipe)(p.X[i*3:i*3+3], p.X[j*3:j*3+3])
				if math.Abs(got-want) > 1e-5 {
					t.Fatalf("%v: kernel of rows %d and %d is %v, the recipe's %v", c, i, j, got, want)
				}
			}
		}
	}
}

func TestTooFewFeaturesForPiecewiseLinearColumnsAreRejected(t *testing.T) {
	p := made(60, 3, 0.1, ridgeLine)
	piecewise := preprocess.NewPiecewiseLinear(p.X, p.N, p.D, 1000)
	o := &Joined{Kernel: &fourier.GaussianOptions{Width: 1}, Features: 100, PiecewiseLinear: piecewise}
	if _, err := o.Choose(&kernel.Data{In: 3}); err == nil {
		t.Error("96 piecewise-linear columns leave 4 features")
	}
}

// bestPair returns the two columns in which nearest rows predict the label. numbers leaves out
// columns of few values.
func TestBestPairIsTheOneWhoseNeighboursPredict(t *testing.T) {
	p := madeClasses(2000, 4, 0.01,
		func(x []float32) float64 { return math.Sin(4*float64(x[1])) * math.Sin(4*float64(x[2])) })
	l, err := p.labels()
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{pilot: p, labels: l}
	v, err := newViewRows(p, View{}, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	train := make([]int, 400)
	for i := range train {
		train[i] = i
	}
	if got := r.bestPair(v, []int{3, 1, 0, 2}, train); got == nil || got.columns != [2]int{1, 2} &&
		got.columns != [2]int{2, 1} {
		t.Errorf("pair %+v, want columns 1 and 2", got)
	}
	if got := r.bestPair(v, []int{3}, train); got != nil {
		t.Errorf("pair %+v of one column", got)
	}
	for i := range p.N { // a category
		p.X[4*i+1] = float32(i % 3)
	}
	if got := v.numbers([]float32{1, 9, 3, 2}); !slices.Equal(got, []int{2, 3, 0}) {
		t.Errorf("numbers %v, want columns 2, 3 and 0 by their weights", got)
	}
}

// Each width of a pair is tried from the λ of the best candidate without a pair, so that its result does not depend on
// the widths before it.
func TestWidthsOfPairsStartFromTheSameLambda(t *testing.T) {
	p := made(1000, 4, 0.05, func(x []float32) float64 {
		return 0.2*float64(x[0]) + math.Sin(3*float64(x[1]))*math.Sin(3*float64(x[2]))
	})
	r, spec, candidates := screened(t, p)
	best := candidates[0]
	metrics := make([]*learnedMetric, len(spec.train)+1)
	for i := range metrics {
		metrics[i] = &learnedMetric{recipe: preprocess.DiagonalMetric{A: []float32{0.1, 1, 1, 0.1}}}
	}
	weighted := best.with(func(c *Candidate) { c.Metric = diagonalMetric })
	weighted.metric, weighted.judged = metrics, best.judged
	candidates, err := r.addPair(t.Context(), append(candidates, weighted), spec)
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, e := range candidates {
		if e.Pair == 0 {
			continue
		}
		alone := best.with(func(c *Candidate) { c.Pair = e.Pair })
		alone.pairs = e.pairs
		if r.try(alone, spec, 1); alone.trial != e.trial {
			t.Errorf("%v: lambda %g and loss %g, alone %g and %g", e.Candidate, e.trial.Lambda, e.trial.Loss, alone.trial.Lambda,
				alone.trial.Loss)
		}
		tried++
	}
	if tried < 2 {
		t.Errorf("%d widths were tried", tried)
	}
}

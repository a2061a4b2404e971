package search

import (
	"math"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
)

// whole returns all rows of a pilot.
func whole(p *Pilot) *radialRows { return newRadialRows(p.N, func(int) bool { return true }) }

// Fits with features tend to the exact fit as the number of features grows.
func TestFitsWithFeaturesTendToTheExactOne(t *testing.T) {
	for _, classes := range []bool{false, true} {
		p := madeLabels(120, 2, 0.1, classes, ridgeLine)
		p.Weights = make([]float64, p.N)
		for i := range p.Weights {
			p.Weights[i] = float64(1 + i%4)
		}
		l, err := p.labels()
		if err != nil {
			t.Fatal(err)
		}
		var train, judge []int
		for i := range p.N {
			if i%5 == 0 {
				judge = append(judge, i)
			} else {
				train = append(train, i)
			}
		}
		const width, lambda = 1.5, 1e-2
		all := newKernelMatrix(fourier.RadialOf(fourier.Gaussian{}).At, newDistances(p.X, p.D, whole(p), kernel.Euclidean, 1),
			width, make([]float64, triangle(p.N)))
		want := make([]float32, len(judge)*l.outputs)
		if err := newExactRidge(all, train, judge, l, new(scratch), 1).scores(lambda, want); err != nil {
			t.Fatal(err)
		}
		f, err := newFit(fourier.Gaussian{In: 2, Out: 2000, Width: width, Draw: fourier.Orthogonal, Seed: 1}, &viewRows{x: p.X, d: p.D},
			train, l, 2)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.solve(100 * lambda); err != nil { // which leaves the sum as it is
			t.Fatal(err)
		}
		got := make([]float32, len(want))
		if err := f.scores(lambda, f.features(&viewRows{x: p.X, d: p.D}, judge), len(judge), got); err != nil {
			t.Fatal(err)
		}
		var off, size float64
		for i, v := range want {
			off += math.Pow(float64(got[i]-v), 2)
			size += math.Pow(float64(v), 2)
		}
		if math.Sqrt(off/size) > 0.2 {
			t.Errorf("classes %v: scores differ by %.3f of their size", classes, math.Sqrt(off/size))
		}
	}
}

// A row of weight 2 counts as two rows.
func TestWeightsOfExactFitsCountRows(t *testing.T) {
	p := madeClasses(30, 2, 0.1, ridgeLine)
	p.Weights = make([]float64, p.N)
	var train, judge, twice []int
	for i := range p.N {
		p.Weights[i] = float64(1 + i%2)
		if i >= 20 {
			judge = append(judge, i)
			continue
		}
		train = append(train, i)
		for range 1 + i%2 {
			twice = append(twice, i)
		}
	}
	all := newKernelMatrix(fourier.RadialOf(fourier.Gaussian{}).At, newDistances(p.X, p.D, whole(p), kernel.Euclidean, 1), 1,
		make([]float64, triangle(p.N)))
	scores := func(train []int, weights []float64) []float32 {
		q := *p
		q.Weights = weights
		l, err := q.labels()
		if err != nil {
			t.Fatal(err)
		}
		out := make([]float32, len(judge)*l.outputs)
		if err := newExactRidge(all, train, judge, l, new(scratch), 1).scores(0.01, out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	weighted, repeated := scores(train, p.Weights), scores(twice, nil)
	for i, v := range weighted {
		if math.Abs(float64(v-repeated[i])) > 1e-5 {
			t.Fatalf("score %d is %v with weights, %v with copies", i, v, repeated[i])
		}
	}
}

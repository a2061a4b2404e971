package iterative_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/sgd"
	"github.com/bochner-ml/bochner/models/svm"
)

// weighed returns noisy discs with weights from 0 to 5, larger outside, and the same rows
// repeated.
func weighed(t *testing.T, n int) (weighted, repeated *linear.Data) {
	m, err := fourier.Gaussian{In: 2, Out: 32, Width: 1, Seed: 1}.New()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(2, 3))
	weighted, repeated = &linear.Data{Map: m}, &linear.Data{Map: m}
	for range n {
		a, b, w := float32(r.NormFloat64()), float32(r.NormFloat64()), r.IntN(3)
		class := int32(0)
		if float64(a*a+b*b)+0.5*r.NormFloat64() > 1.5 {
			class, w = 1, w+3
		}
		weighted.X, weighted.Class = append(weighted.X, a, b), append(weighted.Class, class)
		weighted.Weights = append(weighted.Weights, float64(w))
		for range w {
			repeated.X, repeated.Class = append(repeated.X, a, b), append(repeated.Class, class)
		}
	}
	return weighted, repeated
}

// distance returns the distance between the weights of two fits, relative to their size.
func distance(a, b *iterative.FitResult) float64 {
	var d, size float64
	for i, x := range a.Linear.W {
		e := float64(x - b.Linear.W[i])
		d, size = d+e*e, size+float64(x)*float64(x)
	}
	return math.Sqrt(d / size)
}

// The optimum for weighted rows is the optimum for repeated rows: the objectives are equal within both duality
// gaps, and the weights are nearly equal, because the objective is strongly convex.
func TestOptimumOfWeightedRowsMatchesRepeatedRows(t *testing.T) {
	weighted, repeated := weighed(t, 300)
	for _, lossName := range []string{"hinge", "logistic", "squared_hinge"} {
		for _, classWeights := range [][]string{nil, {"balanced"}, {"1=3"}} {
			o := svm.NewLearnerOptions()
			o.Loss, o.Weights, o.Gap, o.Rounds = lossName, classWeights, 1e-6, 3000
			const lambda = 1e-3
			a, err := svm.Fit(weighted, lambda, o)
			if err != nil {
				t.Fatal(err)
			}
			b, err := svm.Fit(repeated, lambda, o)
			if err != nil {
				t.Fatal(err)
			}
			p, q := a.Last(), b.Last()
			gap, _ := p.Gap()
			slack, _ := q.Gap()
			if math.Abs(p.Objective-q.Objective) > gap+slack+1e-7 || gap > 1e-5*p.Objective {
				t.Errorf("%s, %v: objective %.9g, gap %g; of repeated rows %.9g, gap %g", lossName, classWeights, p.Objective, gap,
					q.Objective, slack)
			}
			if d := distance(a, b); d > 0.01 {
				t.Errorf("%s, %v: weights differ by %g", lossName, classWeights, d)
			}
			if p.Rows >= q.Rows {
				t.Errorf("%d rows, of repeated %d", p.Rows, q.Rows)
			}
		}
	}
}

// Weighted and repeated rows lead to nearly the same objective, although their batches and paths differ.
func TestStepsOfWeightedRowsEndNearRepeatedRows(t *testing.T) {
	weighted, repeated := weighed(t, 300)
	for _, method := range []sgd.Method{sgd.Momentum, sgd.AdaGrad, sgd.SGD} {
		o := sgd.NewLearnerOptions()
		o.Method, o.Rounds, o.Loss = method, 200, "softmax"
		a, err := sgd.Fit(weighted, 1e-2, o)
		if err != nil {
			t.Fatal(err)
		}
		b, err := sgd.Fit(repeated, 1e-2, o)
		if err != nil {
			t.Fatal(err)
		}
		if p, q := a.Last().Objective, b.Last().Objective; math.Abs(p-q) > 0.01*q {
			t.Errorf("%s: objective %g, of repeated rows %g", method, p, q)
		}
	}
}

func TestComponentsOfWeightedRowsMatchRepeatedRows(t *testing.T) {
	weighted, repeated := weighed(t, 300)
	a, err := pca.FitWeighted(weighted.Map, weighted.X, weighted.Weights, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := pca.Fit(repeated.Map, repeated.X, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range b.Linear.W {
		if a.Linear.W[i] != w {
			t.Fatalf("entry %d is %g, want %g", i, a.Linear.W[i], w)
		}
	}
	for i, v := range b.Variance {
		if a.Variance[i] != v {
			t.Fatalf("variance %d is %g, want %g", i, a.Variance[i], v)
		}
	}
}

func TestEqualWeightsDoNotAffectTheModel(t *testing.T) {
	d, _ := weighed(t, 200)
	for i := range d.Weights {
		d.Weights[i] = 0.3
	}
	plain := *d
	plain.Weights = nil
	o, s := svm.NewLearnerOptions(), sgd.NewLearnerOptions()
	o.Patience, o.Rounds, s.Rounds = 3, 20, 5
	for name, fit := range map[string]func(d *linear.Data) (*iterative.FitResult, error){
		"svm": func(d *linear.Data) (*iterative.FitResult, error) { return svm.Fit(d, 1e-3, o) },
		"sgd": func(d *linear.Data) (*iterative.FitResult, error) { return sgd.Fit(d, 1e-3, s) },
	} {
		a, err := fit(d)
		if err != nil {
			t.Fatal(err)
		}
		b, err := fit(&plain)
		if err != nil {
			t.Fatal(err)
		}
		if distance(a, b) != 0 || a.Last().Objective != b.Last().Objective || a.Last().HeldOutError != 0 {
			t.Errorf("%s: %+v, without weights %+v", name, a.Last(), b.Last())
		}
	}
}

// With patience, held-out rows count by their weights.
func TestHeldOutRowsCountByWeight(t *testing.T) {
	d, _ := weighed(t, 600)
	o := svm.NewLearnerOptions()
	o.Patience, o.Rounds = 2, 10
	fit, err := svm.Fit(d, 1e-2, o)
	if err != nil {
		t.Fatal(err)
	}
	r := fit.Last()
	if share := float64(r.HeldOutErrors) / float64(r.HeldOutRows); r.HeldOutErrors == 0 || !(r.HeldOutError > 0) ||
		r.HeldOutError == share {
		t.Errorf("%d errors of %d rows, %g by weight", r.HeldOutErrors, r.HeldOutRows, r.HeldOutError)
	}
	few := iterative.HeldOut{HeldOutErrors: 1, HeldOutError: 0.5}
	light := iterative.HeldOut{HeldOutErrors: 9, HeldOutError: 0.1}
	if few.Better(light) || !light.Better(few) {
		t.Error("errors are not compared by weight")
	}
}

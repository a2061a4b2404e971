package iterative_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/loss"
	_ "github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sgd"
	"github.com/bochner-ml/bochner/models/svm"
)

func TestLearnersAreFoundByNameAliasAndOptions(t *testing.T) {
	if have := iterative.Names(); !slices.Equal(have, []string{"ridge", "sgd", "svm"}) {
		t.Errorf("learners %v; want one-pass learners first, and not pca, which does not train models", have)
	}
	for name, want := range map[string]string{"svm": "svm", "svc": "svm", "krr": "ridge", "pca": "pca"} {
		l, err := iterative.Lookup(name)
		if err != nil || l.Name != want || iterative.DefinitionOf(l.New()).Name != want {
			t.Errorf("%s is %q, %v", name, l.Name, err)
		}
		if err := l.New().Validate(); err != nil {
			t.Errorf("%s: defaults: %v", name, err)
		}
	}
	if _, err := iterative.Lookup("svn"); err == nil || !strings.Contains(err.Error(), `did you mean "svm"?`) {
		t.Error(err)
	}
}

func TestOptionsOutOfRangeAreNamed(t *testing.T) {
	for name, o := range map[string]iterative.Options{
		"rounds":         &svm.LearnerOptions{Shared: shared(func(s *iterative.Shared) { s.Rounds = -1 })},
		"gap":            &sgd.LearnerOptions{Shared: shared(func(s *iterative.Shared) { s.Gap = math.NaN() })},
		"patience":       &sgd.LearnerOptions{Shared: shared(func(s *iterative.Shared) { s.Patience = -1 })},
		"max_time":       &sgd.LearnerOptions{Shared: shared(func(s *iterative.Shared) { s.Time = -1 })},
		"partitions":     &svm.LearnerOptions{Shared: shared(func(s *iterative.Shared) { s.Partitions = 1 << 15 })},
		"rounds_per_job": &svm.LearnerOptions{Shared: shared(func(s *iterative.Shared) { s.PerJob = 101 })},
		"keep_bytes":     &svm.LearnerOptions{Shared: shared(func(s *iterative.Shared) { s.Keep = -1 })},
		"bias":           &svm.LearnerOptions{Bias: -1},
		"passes":         &svm.LearnerOptions{Passes: -1},
		"method":         &sgd.LearnerOptions{Method: "newton"},
		"rate":           &sgd.LearnerOptions{Rate: math.Inf(1)},
		"batch":          &sgd.LearnerOptions{Batch: -1},
		"grid":           &ridge.LearnerOptions{Grid: "12"},
	} {
		var e *option.Error
		if err := o.Validate(); !errors.As(err, &e) || e.Option != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func shared(set func(*iterative.Shared)) iterative.Shared {
	s := iterative.Defaults()
	set(&s)
	return s
}

func TestClassWeightsAreNamedOrBalanced(t *testing.T) {
	classes, counts := []string{"a", "b"}, []float64{1, 3}
	for text, want := range map[string][]float64{"balanced": {2, 2.0 / 3}, "b=4": {1, 4}, "a=0.5,b=2": {0.5, 2}} {
		o := iterative.Objective{Weights: strings.Split(text, ",")}
		p, err := o.Problem(loss.Problem{Dim: 3, Rows: 4, Lambda: 1e-3}, "hinge", classes, counts)
		if err != nil || !slices.Equal(p.Weights, want) {
			t.Errorf("%s: %v, %v; want %v", text, p.Weights, err, want)
		}
	}
	for text, want := range map[string]string{"c=1": "no row is of class", "a": "neither NAME=WEIGHT nor balanced",
		"a=-1": "want a number above 0"} {
		if _, err := (iterative.Objective{Weights: []string{text}}).Problem(loss.Problem{}, "hinge", classes,
			counts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
	if _, err := (iterative.Objective{Weights: []string{"balanced"}}).Problem(loss.Problem{}, "huber", nil, nil); err == nil {
		t.Error("weights of classes in a regression")
	}
}

// rings returns points of two rings, one inside of the other.
func rings(t *testing.T, n int) *linear.Data {
	m, err := fourier.Gaussian{In: 2, Out: 64, Width: 1, Seed: 1}.New()
	if err != nil {
		t.Fatal(err)
	}
	d := &linear.Data{Map: m}
	for i := range n {
		radius, angle := 1+float64(i%2), float64(i)
		d.X = append(d.X, float32(radius*math.Cos(angle)), float32(radius*math.Sin(angle)))
		d.Class = append(d.Class, int32(i%2))
	}
	return d
}

// With patience one row in five is held out, and the state with the lowest held-out error is used.
func TestFitWithPatienceTakesTheBestState(t *testing.T) {
	d := rings(t, 500)
	for i := 0; i < 500; i += 5 {
		d.Class[i] = 1 - d.Class[i] // what cannot be learned
	}
	o := sgd.NewLearnerOptions()
	o.Method, o.Rate, o.Rounds, o.Patience = sgd.SGD, 20, 200, 3
	fit, err := sgd.Fit(d, 0, o)
	if err != nil {
		t.Fatal(err)
	}
	last := fit.Last()
	if last.Rows+last.HeldOutRows != 500 || last.HeldOutRows < 60 || last.HeldOutRows > 140 ||
		!strings.Contains(fit.Ended, "have not lowered") {
		t.Errorf("%d rows learned from, %d held out; %s", last.Rows, last.HeldOutRows, fit.Ended)
	}
	for i, r := range fit.History[:len(fit.History)-1] {
		if r.HeldOutErrors < last.HeldOutErrors {
			t.Errorf("round %d has %d errors, the one taken %d", i, r.HeldOutErrors, last.HeldOutErrors)
		}
	}
}

func TestFitRejectsInvalidArguments(t *testing.T) {
	d := rings(t, 20)
	files := svm.NewLearnerOptions()
	files.Init = "model"
	raw, err := identity.Recipe{In: 2, Bound: 2}.New()
	if err != nil {
		t.Fatal(err)
	}
	for want, fit := range map[string]func() error{
		"Init, Curve and Partitions are for trainings of files": func() error {
			_,
				err := svm.Fit(d, 1e-3, files)
			return err
		},
		"lambda is 0": func() error { _, err := svm.Fit(d, 0, nil); return err },
		"set exactly one of Class and Target (have 0 and 0 labels)": func() error {
			_, err := svm.Fit(&linear.Data{Map: raw, X: d.X}, 1e-3, nil)
			return err
		},
		"41 values are 20 rows of 2": func() error {
			_, err := ridge.Fit(&linear.Data{Map: raw, X: append(d.X[:40:40], 1), Class: d.Class}, nil, nil)
			return err
		},
		"row 1: value 1 is NaN": func() error {
			_, err := ridge.Fit(&linear.Data{Map: raw, X: []float32{1, 2, 3, float32(math.NaN())}, Class: []int32{0, 1}},
				nil, nil)
			return err
		},
		"row 0: class -1": func() error {
			_, err := sgd.Fit(&linear.Data{Map: raw, X: []float32{1, 2}, Class: []int32{-1}}, 1e-3, nil)
			return err
		},
		"all 2 rows are of one class": func() error {
			_, err := sgd.Fit(&linear.Data{Map: raw, X: []float32{1, 2, 3, 4}, Class: []int32{0, 0}}, 1e-3, nil)
			return err
		},
		"row 1: the target is +Inf": func() error {
			_, err := sgd.Fit(&linear.Data{Map: raw, X: []float32{1, 2, 3, 4}, Target: []float64{0, math.Inf(1)}}, 1e-3, nil)
			return err
		},
		"no map": func() error { _, err := ridge.Fit(&linear.Data{X: d.X, Class: d.Class}, nil, nil); return err },
		"far beyond the bound of the map": func() error {
			_, err := ridge.Fit(&linear.Data{Map: raw, X: []float32{1e9, 2, 3, 4}, Class: []int32{0, 1}}, []float64{1}, nil)
			return err
		},
	} {
		if err := fit(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

package models

import (
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/io/rows"
)

// Applier takes blocks of rows to what a model says of them. It has memory of its own,
// which it uses again, so each goroutine needs one of its own. What it says of a row
// depends on no other row.
type Applier struct {
	Model *Model
	// Map, unless it is nil, stores the features of n rows of x in phi, which it grows as
	// needed and returns: for instance, with several threads.
	Map func(phi, x []float32, n int) []float32

	phi           []float32
	scores        []float32
	probabilities []float32
	classes       []int32
	targets       []float64
}

// Applied is what a model says of a block of n rows, until the next call of its Applier.
type Applied struct {
	Scores        []float32 // n×K
	Targets       []float64 // n×K, in the units of the training data; nil for a model of classes
	Probabilities []float32 // n×K; nil for a model without
	Classes       []int32   // n; nil for a model of numbers
}

// Scores returns the scores, n×K, of n rows of x (row-major), of which the model's centre
// is already subtracted. They are the applier's until the next call.
func (a *Applier) Scores(x []float32, n int) []float32 {
	k := a.Model.Linear.K
	a.scores = grow(a.scores, n*k)
	// Maps of many features take fewer rows at a time.
	in, out := a.Model.Map.Dims()
	for at, step := 0, rows.OfFeatures(out); at < n; at += step {
		m := min(step, n-at)
		if a.Map != nil {
			a.phi = a.Map(a.phi, x[at*in:], m)
		} else {
			if cap(a.phi) < m*out {
				a.phi = blas.Make[float32](m * out)
			}
			a.phi = a.phi[:m*out]
			a.Model.Map.Apply(a.phi, x[at*in:], m)
		}
		a.Model.Linear.Scores(a.scores[at*k:], a.phi, m)
	}
	return a.scores
}

// Apply returns what the model says of n rows, as Scores has them.
func (a *Applier) Apply(x []float32, n int) Applied {
	k := a.Model.Linear.K
	said := Applied{Scores: a.Scores(x, n)}
	if !a.Model.Classifies() {
		a.targets = grow(a.targets, n*k)
		a.Model.Targets(a.targets, said.Scores)
		said.Targets = a.targets
		return said
	}
	a.classes = grow(a.classes, n)
	said.Classes = a.classes
	p := a.Model.Manifest.Probabilities
	if p == nil {
		a.Model.Linear.Classes(said.Classes, said.Scores, n)
		return said
	}
	a.probabilities = grow(a.probabilities, n*k)
	said.Probabilities = a.probabilities
	p.Apply(said.Probabilities, said.Scores, n, k)
	p.Classes(said.Classes, said.Probabilities, said.Scores, n, k)
	return said
}

// Finite tells whether a row of scores is: numbers so large that an angle is beyond
// float32 have no features.
func Finite(scores []float32) bool {
	return !slices.ContainsFunc(scores, func(s float32) bool { return s-s != 0 })
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

package models

import (
	"cmp"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/score"
)

// Applier applies a model to blocks of rows. It reuses its own memory, so each goroutine
// needs its own Applier. The result for a row does not depend on other rows.
type Applier struct {
	Model *Model
	// Map, unless nil, stores the features of n rows of x in phi, growing it as needed, and returns it. It
	// may use several threads.
	Map func(phi, x []float32, n int) []float32
	// Threshold, unless nil, replaces the model's Threshold.
	Threshold *Threshold
	// Novelty asks for the novelty of rows; the model must have a Sketch.
	Novelty bool

	phi           []float32
	scores        []float32
	probabilities []float32
	classes       []int32
	decided       []int32
	likeliest     []int32
	targets       []float64
	probes        []float32 // outputs of the Sketch
	novelty       []float32
}

// Applied is the output of a model for a block of n rows, valid until the next call of
// its Applier.
type Applied struct {
	Scores        []float32 // n×K
	Targets       []float64 // n×K, in the units of the training data; nil for a classifier
	Probabilities []float32 // n×K; nil if the model has none
	Classes       []int32   // n; nil unless the model classifies
	Likeliest     []int32   // n; Classes before a threshold and without class weights
	Novelty       []float32 // n; nil unless Applier.Novelty asks for it
}

// Scores returns the scores (n×K) of n rows of x (row-major), from which the model's centre has been
// subtracted. They are valid until the next call. If the model has Manifest.Fill, Scores replaces NaN in x by it.
func (a *Applier) Scores(x []float32, n int) []float32 {
	k := a.Model.Linear.K
	if a.Novelty && a.Model.Manifest.Sketch == nil {
		panic("models: Applier.Novelty: the model has no Sketch")
	}
	if a.Model.fill != nil {
		a.Model.fillIn(x)
	}
	blas.Grow(&a.scores, n*k)
	if a.Novelty {
		blas.Grow(&a.novelty, n)
	}
	// Take fewer rows at a time if there are many features.
	in, out := a.Model.Map.Dims()
	for at, step := 0, rowio.RowsPerFeatureBlock(out); at < n; at += step {
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
		if a.Novelty {
			probes := a.Model.Manifest.Sketch.linear
			blas.Grow(&a.probes, m*probes.K)
			probes.Scores(a.probes, a.phi, m)
			SumSquares(a.novelty[at:at+m], a.probes)
		}
		if manifest := a.Model.Manifest; manifest != nil { // nil while training scores its held-out rows
			manifest.Segments.scores(a.scores[at*k:], a.phi, x[at*in:][:m*in], m)
		}
	}
	return a.scores
}

// Apply returns the output of the model for n rows. Rows are as for Scores.
func (a *Applier) Apply(x []float32, n int) Applied {
	k := a.Model.Linear.K
	output := Applied{Scores: a.Scores(x, n)}
	if a.Novelty {
		output.Novelty = a.novelty
	}
	if !a.Model.Classifies() {
		blas.Grow(&a.targets, n*k)
		a.Model.Targets(a.targets, output.Scores)
		output.Targets = a.targets
		return output
	}
	blas.Grow(&a.classes, n)
	output.Classes = a.classes
	p := a.Model.Manifest.Probabilities
	if p == nil {
		a.Model.Linear.Classes(output.Classes, output.Scores, n)
		return a.decide(output, n)
	}
	blas.Grow(&a.probabilities, n*k)
	output.Probabilities = a.probabilities
	p.Apply(output.Probabilities, output.Scores, n, k)
	p.Classes(output.Classes, output.Probabilities, output.Scores, n, k)
	output = a.decide(output, n)
	if p.Weights != nil {
		blas.Grow(&a.likeliest, n)
		output.Likeliest = a.likeliest
		score.Likeliest(output.Likeliest, nil, output.Probabilities, output.Scores, n, k)
	}
	return output
}

// decide applies the threshold.
func (a *Applier) decide(output Applied, n int) Applied {
	output.Likeliest = output.Classes
	threshold := cmp.Or(a.Threshold, a.Model.Manifest.Threshold)
	if threshold == nil {
		return output
	}
	blas.Grow(&a.decided, n)
	output.Classes = a.decided
	positive := a.Model.Manifest.PositiveClass()
	for i := range n {
		judged := score.Margin(output.Scores[2*i:], positive)
		if output.Probabilities != nil {
			judged = output.Probabilities[2*i+positive]
		}
		output.Classes[i] = int32(1 - positive)
		if judged >= threshold.Value {
			output.Classes[i] = int32(positive)
		}
	}
	return output
}

// Package scores holds the passes that apply a model to rows: predictions, and what rows
// with labels tell of a model.
package scores

import (
	"context"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// Model is a model directory as the state of a pass names it.
type Model struct {
	Dir    string `json:"model"`
	SHA256 string `json:"sha256"` // of its manifest
}

// loaded is the model that was used last.
type loaded struct {
	transforms.Cache[*models.Model]
}

func newLoaded() *loaded { return new(loaded) }

// applier takes blocks to the scores of a model.
type applier struct {
	lane    *transforms.Lane
	model   *models.Model
	phi     []float32
	scores  []float32
	class   []int32
	chances []float32
	targets []float64
}

// applier returns one of the model, which is loaded once in a job and process. Another
// model may have come to be where one was: its checksum tells.
func (m Model) applier(ctx context.Context, l *transforms.Lane) (*applier, error) {
	model, err := transforms.Shared(l.Worker, newLoaded).Get(m.SHA256+" "+m.Dir, func() (*models.Model, error) { return models.LoadURI(ctx, m.Dir) })
	if err != nil {
		return nil, fault.Of(fault.BadModel, err)
	}
	if model.Manifest.SHA256 != m.SHA256 {
		return nil, fault.Of(fault.BadModel, fmt.Errorf("scores: model %s was replaced while it was in use; start again", m.Dir))
	}
	return &applier{lane: l, model: model}, nil
}

// applied is what a model says of a block of rows.
type applied struct {
	scores  []float32 // n×k
	targets []float64 // n×k, in the units of the training data; nil but for a model of numbers
	chances []float32 // n×k probabilities; nil for a model without
	class   []int32   // n; nil for a model of numbers
}

// score returns the scores of a block's rows, n×K. They are the applier's until the next
// call.
func (a *applier) score(b *rows.Block) []float32 {
	k := a.model.Linear.K
	a.scores = grow(a.scores, b.N*k)
	// Maps of many features take fewer rows at a time.
	in, out := a.model.Map.Dims()
	for at, step := 0, rows.OfFeatures(out); at < b.N; at += step {
		n := min(step, b.N-at)
		a.phi = a.lane.Apply(a.model.Map, a.phi, b.X[at*in:], n)
		a.model.Linear.Scores(a.scores[at*k:], a.phi, n)
	}
	return a.scores
}

// apply returns what the model says of a block's rows. It is the applier's until the
// next call.
func (a *applier) apply(b *rows.Block) applied {
	k := a.model.Linear.K
	a.score(b)
	if !a.model.Classifies() {
		a.targets = grow(a.targets, b.N*k)
		a.model.Targets(a.targets, a.scores)
		return applied{scores: a.scores, targets: a.targets}
	}
	a.class = grow(a.class, b.N)
	p := a.model.Manifest.Probabilities
	if p == nil {
		a.model.Linear.Classes(a.class, a.scores, b.N)
		return applied{scores: a.scores, class: a.class}
	}
	a.chances = grow(a.chances, b.N*k)
	p.Apply(a.chances, a.scores, b.N, k)
	p.Classes(a.class, a.chances, a.scores, b.N, k)
	return applied{scores: a.scores, chances: a.chances, class: a.class}
}

// finite tells whether a row of scores is: numbers so large that an angle is beyond
// float32 have no features.
func finite(row []float32) bool {
	return !slices.ContainsFunc(row, func(s float32) bool { return rows.CheckFinite(s) != "" })
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

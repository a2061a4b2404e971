package transforms

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models"
)

// modelsLoaded holds the model loaded last, which the lanes of a process share, by
// the checksum of its manifest and its directory: another model may have come to
// stand where one stood.
var modelsLoaded = newCache(1, func(ctx context.Context, name string) (*models.Model, error) {
	_, dir, _ := strings.Cut(name, " ")
	return models.Load(ctx, dir)
})

// applier takes blocks to the scores of a model.
type applier struct {
	model   *models.Model
	threads int
	phi     []float32
	scores  []float32
	class   []int32
	chances []float32
	targets []float64
}

func newApplier(ctx context.Context, p *Pass, threads int) (*applier, error) {
	m, err := modelsLoaded.get(ctx, p.Predict.SHA256+" "+p.Predict.Model)
	if err != nil {
		return nil, asFault(BadModel, err)
	}
	if m.Manifest.SHA256 != p.Predict.SHA256 {
		return nil, asFault(BadModel, fmt.Errorf("transforms: model %s was replaced while it was in use; start again", p.Predict.Model))
	}
	return &applier{model: m, threads: threads}, nil
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
		a.phi = applyMap(a.model.Map, a.phi, b.X[at*in:], n, a.threads)
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

// growFeatures is grow for features, which lie as blas.Make has them.
func growFeatures(phi []float32, n int) []float32 {
	if cap(phi) < n {
		return blas.Make[float32](n)
	}
	return phi[:n]
}

// applyMap stores the features of n rows of x in phi, which it grows as needed.
// The rows are shared among threads; each row's features are the same.
func applyMap(m features.Map, phi, x []float32, n, threads int) []float32 {
	in, out := m.Dims()
	phi = growFeatures(phi, n*out)
	threads = max(1, min(threads, n))
	var wg parallel.Group
	for t := range threads {
		lo, hi := t*n/threads, (t+1)*n/threads
		wg.Go(func() { m.Apply(phi[lo*out:], x[lo*in:], hi-lo) })
	}
	wg.Wait()
	return phi
}

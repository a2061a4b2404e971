// Package scores holds the passes that apply a model to rows: predictions, and what rows
// with labels tell of a model.
package scores

import (
	"context"
	"fmt"

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
	models.Applier
	lane *transforms.Lane
}

func newApplier(l *transforms.Lane, m *models.Model) *applier {
	apply := func(phi, x []float32, n int) []float32 { return l.Apply(m.Map, phi, x, n) }
	return &applier{models.Applier{Model: m, Map: apply}, l}
}

// apply returns what the model says of a block's rows, until the next call.
func (a *applier) apply(b *rows.Block) models.Applied { return a.Apply(b.X, b.N) }

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
	return newApplier(l, model), nil
}

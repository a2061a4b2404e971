// Package scoring holds the passes that apply a model to rows. Predict writes predictions, Score compares
// predictions with labels, and Compare scores two models on the same rows. Trials, Calibration and
// Threshold score held-out rows of a training run by weights that were fitted without them (HeldOut). Files
// predicts files or messages as they arrive, in pipelines that may never end.
//
// A pass that scores has a method Sum, which returns an exact sum that does not depend on how the rows were read.
package scoring

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// Model names a model directory in the state of a pass.
type Model struct {
	Dir    string `json:"model"`
	SHA256 string `json:"sha256"` // of its manifest
	// Threshold, unless nil, replaces the threshold of the model; see models.Applier.
	Threshold *models.Threshold `json:"threshold,omitempty"`
}

// applier computes a model's output for blocks.
type applier struct {
	models.Applier
	reader *transforms.Reader
}

func newApplier(r *transforms.Reader, m *models.Model) *applier {
	apply := func(phi, x []float32, n int) []float32 { return r.Apply(m.Map, phi, x, n) }
	return &applier{models.Applier{Model: m, Map: apply}, r}
}

// apply returns the model's output for a block's rows, until the next call.
func (a *applier) apply(b *rowio.Block) models.Applied { return a.Apply(b.X, b.N) }

// threads returns how many threads compute.
func (a *applier) threads() int {
	if a.reader == nil {
		return 1
	}
	return a.reader.Scan.Threads
}

// ahead shows n rows of the block as processed; see transforms.Worker.Ahead.
func (a *applier) ahead(n int) {
	if a.reader != nil {
		a.reader.Worker.Ahead(n)
	}
}

// applier returns an applier of one of the models of a pass, which are loaded once per job and process. The checksum
// detects a model that was replaced.
func (m Model) applier(ctx context.Context, r *transforms.Reader, ofPass int) (*applier, error) {
	model, err := transforms.Cached(r.Worker, ofPass, m.SHA256+" "+m.Dir, func() (*models.Model, error) {
		return models.LoadURI(ctx, m.Dir)
	})
	if err != nil {
		return nil, fault.Wrap(fault.Model, err)
	}
	if model.Manifest.SHA256 != m.SHA256 {
		return nil, fault.Wrap(fault.Model,
			fmt.Errorf("scoring: model %s was replaced while it was in use; start again", m.Dir))
	}
	a := newApplier(r, model)
	a.Threshold = m.Threshold
	return a, nil
}

package transforms

import (
	"context"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/folds"
)

// heldModels holds the model that scores the rows held out, by its pass.
var heldModels = newCache(1, func(ctx context.Context, pass string) (*models.Model, error) {
	p, err := loadPass(ctx, pass)
	if err != nil {
		return nil, err
	}
	h := p.HeldOut
	m, err := openMap(ctx, h.Recipe)
	if err != nil {
		return nil, err
	}
	_, dim := m.Dims()
	linear, err := LoadWeights(ctx, h.Weights, h.SHA256, h.Outputs*max(1, h.Fits), dim)
	if err != nil {
		return nil, err
	}
	return &models.Model{Linear: linear, Map: m}, nil
})

// heldScorer scores the rows held out of a lane: those of the first of Pass.Held folds.
type heldScorer struct {
	applier
	folds  uint64
	dealer *folds.Dealer
	hashes []uint64
	held   rows.Block
}

func newHeldScorer(ctx context.Context, sc Scan, p *Pass) (*heldScorer, error) {
	m, err := heldModels.get(ctx, sc.Pass)
	if err != nil {
		return nil, err
	}
	return &heldScorer{applier: applier{model: m, threads: sc.Threads}, folds: uint64(p.Held), dealer: p.dealer()}, nil
}

// of returns the scores and the labels of the rows of b that are held out. Both are the
// scorer's until the next call.
func (h *heldScorer) of(s dataset.Shard, b *rows.Block) (scores []float32, y []float64, err error) {
	if h.hashes, err = h.dealer.Hashes(h.hashes[:0], place(s), b); err != nil {
		return nil, nil, err
	}
	h.held.Reset(b.D)
	for i, hash := range h.hashes {
		if hash%h.folds == 0 {
			h.held.X, h.held.Y = append(h.held.X, b.Row(i)...), append(h.held.Y, b.Y[i])
			h.held.N++
		}
	}
	return h.score(&h.held), h.held.Y, nil
}

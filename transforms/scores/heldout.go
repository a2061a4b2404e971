package scores

import (
	"context"
	"encoding"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/folds"
	"github.com/bochner-ml/bochner/models/weight"
	"github.com/bochner-ml/bochner/transforms"
)

// HeldOut is the state of a pass that scores held-out rows, by weights that were fitted
// without them.
type HeldOut struct {
	Folds   int             `json:"folds"` // the first of them is held out
	Recipe  features.Sealed `json:"recipe"`
	Outputs int             `json:"outputs"`        // of a fit
	Fits    int             `json:"fits,omitempty"` // whose weights are in the file, one after the other; 0 is 1
	Weights string          `json:"weights"`        // file, as transforms.StoreWeights writes it
	SHA256  string          `json:"sha256"`         // of it
	// Grid is that of the weights of rows, by which rows count; nil if they have none.
	Grid *weight.Grid `json:"grid,omitempty"`
}

// heldOutScorer scores the held-out rows of a lane.
type heldOutScorer struct {
	*applier
	folds    uint64
	assigner *folds.Assigner
	hashes   []uint64
	held     rows.Block
	repeats  []int64
}

func (h HeldOut) scorer(ctx context.Context, l *transforms.Lane, p *transforms.Pass) (*heldOutScorer, error) {
	model, err := transforms.Shared(l.Worker, newLoaded).Get(l.Scan.Pass, func() (*models.Model, error) {
		m, err := l.Worker.Map(h.Recipe)
		if err != nil {
			return nil, err
		}
		_, dim := m.Dims()
		linear, err := transforms.LoadWeights(ctx, h.Weights, h.SHA256, h.Outputs*max(1, h.Fits), dim)
		return &models.Model{Linear: linear, Map: m}, err
	})
	if err != nil {
		return nil, err
	}
	return &heldOutScorer{applier: newApplier(l, model), folds: uint64(h.Folds), assigner: p.Assigner()}, nil
}

// summing returns how to add the scores and the labels of the held-out rows of a lane, which add
// may change, to sum, and how often each row counts.
func (h HeldOut) summing(ctx context.Context, l *transforms.Lane, p *transforms.Pass, sum encoding.BinaryMarshaler, add func(scores []float32, y []float64, repeats []int64) error) (transforms.Summing, error) {
	s, err := h.scorer(ctx, l, p)
	return transforms.Summing{Sum: sum, Label: p.Target.Label(), Fold: func(at folds.Place, b *rows.Block) error {
		scores, y, err := s.of(at, b)
		if err != nil {
			return err
		}
		s.repeats = h.Grid.Repeats(s.repeats[:0], &s.held)
		return add(scores, y, s.repeats)
	}}, err
}

// of returns the scores and the labels of the held-out rows of b. Both are valid until
// the next call.
func (h *heldOutScorer) of(at folds.Place, b *rows.Block) (scores []float32, y []float64, err error) {
	if h.hashes, err = h.assigner.Hashes(h.hashes[:0], at, b); err != nil {
		return nil, nil, err
	}
	h.held.Reset(b.D)
	for i, hash := range h.hashes {
		if hash%h.folds == 0 {
			h.held.X, h.held.Y = append(h.held.X, b.Row(i)...), append(h.held.Y, b.Labels(i)...)
			if len(b.Weights) > 0 {
				h.held.Weights = append(h.held.Weights, b.Weights[i])
			}
			h.held.N++
		}
	}
	return h.Scores(h.held.X, h.held.N), h.held.Y, nil
}

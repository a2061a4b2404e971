package scores

import (
	"context"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/transforms"
)

// HeldOut is the state of a pass that scores the held-out rows with weights that were fitted without them.
type HeldOut struct {
	Folds   int             `json:"folds"` // the first of them is held out
	Recipe  features.Sealed `json:"recipe"`
	Outputs int             `json:"outputs"`          // outputs of one fit
	Fits    int             `json:"fits,omitempty"`   // fits whose weights are in the file, one after the other; 0 means 1
	Weights string          `json:"weights"`          // URI of a file from transforms.StoreWeights
	SHA256  string          `json:"sha256"`           // digest of this file
	Probes  int             `json:"probes,omitempty"` // outputs of a sketch, which follow those of the fits in the file
	// Grid is the grid of the weights of rows, by which rows count; nil if they have none.
	Grid *profile.WeightGrid `json:"grid,omitempty"`
}

// heldOutScorer scores the held-out rows of a lane.
type heldOutScorer struct {
	*applier
	folds    uint64
	assigner *profile.Assigner
	hashes   []uint64
	block    rows.Block
	rows     heldRows
}

// heldRows holds held-out rows, valid until the next block.
type heldRows struct {
	scores  []float32
	y       []float64 // labels
	repeats []int64   // how often each row counts
	hashes  []uint64  // hashes of the contents, divided by the number of folds
}

func (h HeldOut) scorer(ctx context.Context, l *transforms.Lane, p *transforms.Pass) (*heldOutScorer, error) {
	model, err := transforms.Shared(l.Worker, newLoaded).Get(l.Scan.Pass, func() (*models.Model, error) {
		m, err := l.Worker.Map(h.Recipe)
		if err != nil {
			return nil, err
		}
		_, dim := m.Dims()
		linear, err := transforms.LoadWeights(ctx, h.Weights, h.SHA256, h.Outputs*max(1, h.Fits)+h.Probes, dim)
		return &models.Model{Linear: linear, Map: m}, err
	})
	if err != nil {
		return nil, err
	}
	return &heldOutScorer{applier: newApplier(l, model), folds: uint64(h.Folds), assigner: p.Assigner()}, nil
}

// summing returns how to add the held-out rows of a lane to sum. add may change the rows.
func (h HeldOut) summing(ctx context.Context, l *transforms.Lane, p *transforms.Pass, sum wire.Coded,
	add func(*heldRows) error) (transforms.Summing, error) {
	s, err := h.scorer(ctx, l, p)
	return transforms.Summing{Sum: sum, Label: p.Target.Label(), Add: func(at profile.FoldPlace, b *rows.Block) error {
		if err := s.score(at, b); err != nil {
			return err
		}
		s.rows.repeats = h.Grid.Repeats(s.rows.repeats[:0], &s.block)
		return add(&s.rows)
	}}, err
}

// score scores the held-out rows of b.
func (h *heldOutScorer) score(at profile.FoldPlace, b *rows.Block) (err error) {
	if h.hashes, err = h.assigner.Hashes(h.hashes[:0], at, b); err != nil {
		return err
	}
	held, r := &h.block, &h.rows
	held.Reset(b.D)
	r.hashes = r.hashes[:0]
	for i, hash := range h.hashes {
		if hash%h.folds == 0 {
			held.X, held.Y = append(held.X, b.Row(i)...), append(held.Y, b.Labels(i)...)
			if len(b.Weights) > 0 {
				held.Weights = append(held.Weights, b.Weights[i])
			}
			held.N++
			r.hashes = append(r.hashes, hash/h.folds)
		}
	}
	r.scores, r.y = h.Scores(held.X, held.N), held.Y
	return nil
}

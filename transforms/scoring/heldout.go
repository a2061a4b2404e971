package scoring

import (
	"context"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/score"
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
	Probes  int             `json:"probes,omitempty"` // outputs of a sketch, which follow the fits in the file
	// Grid is the grid of the weights of rows, by which rows count; nil if they have none.
	Grid *profile.WeightGrid `json:"grid,omitempty"`
}

// Recipes returns the recipe.
func (h *HeldOut) Recipes() []*features.Sealed { return []*features.Sealed{&h.Recipe} }

// heldOutScorer scores the held-out rows of a reader.
type heldOutScorer struct {
	*applier
	folds    uint64
	assigner *profile.Assigner
	hashes   []uint64
	block    rowio.Block
	rows     heldRows
}

// heldRows holds held-out rows, valid until the next block.
type heldRows struct {
	scores  []float32
	y       []float64 // labels
	repeats []int64   // how often each row counts
	hashes  []uint64  // that divide the fold (see score.Half)
}

// accumulator returns how to add the held-out rows of a reader to sum. add may change the rows.
func (h HeldOut) accumulator(ctx context.Context, r *transforms.Reader, p *transforms.Pass, sum wire.Coded,
	add func(*heldRows) error) (transforms.Accumulator, error) {
	model, err := transforms.Cached(r.Worker, 1, r.Scan.Pass, func() (*models.Model, error) {
		m, err := r.Worker.Map(h.Recipe)
		if err != nil {
			return nil, err
		}
		_, dim := m.Dims()
		linear, err := transforms.LoadWeights(ctx, h.Weights, h.SHA256, h.Outputs*max(1, h.Fits)+h.Probes, dim)
		return &models.Model{Linear: linear, Map: m}, err
	})
	if err != nil {
		return transforms.Accumulator{}, err
	}
	s := &heldOutScorer{applier: newApplier(r, model), folds: uint64(h.Folds), assigner: p.Assigner()}
	a := transforms.Accumulator{Sum: sum, Label: p.Target.Label()}
	a.Add = func(at profile.ShardStart, b *rowio.Block) error {
		if err := s.score(at, b); err != nil {
			return err
		}
		s.rows.repeats = h.Grid.AppendRepeats(s.rows.repeats[:0], &s.block)
		return add(&s.rows)
	}
	return a, nil
}

// score scores the held-out rows of b.
func (h *heldOutScorer) score(at profile.ShardStart, b *rowio.Block) (err error) {
	if h.hashes, err = h.assigner.Hashes(h.hashes[:0], at, b); err != nil {
		return err
	}
	held, r := &h.block, &h.rows
	held.Reset(b.D)
	r.hashes = r.hashes[:0]
	for i, hash := range h.hashes {
		if hash%h.folds == 0 {
			held.Append(b, i)
			r.hashes = append(r.hashes, hash/h.folds)
		}
	}
	r.scores, r.y = h.Scores(held.X, held.N), held.Y
	return nil
}

func init() { transforms.RegisterSum[score.HalvedCounts](beginCalibration) }

// Calibration is a pass that counts the scores of the rows of the first fold, computed with
// weights that were fitted without this fold. Its sum is score.HalvedCounts. Rows without a finite score, for
// which the model predicts nothing, are not counted.
type Calibration struct {
	transforms.Pass
	HeldOut
}

func beginCalibration(ctx context.Context, r *transforms.Reader, p *Calibration) (transforms.Accumulator, error) {
	counts := score.NewHalvedCounts(p.Outputs)
	return p.HeldOut.accumulator(ctx, r, &p.Pass, counts, func(r *heldRows) error {
		for i, y := range r.y {
			counts[score.Half(r.hashes[i])].Add(r.scores[i*p.Outputs:(i+1)*p.Outputs], int(y), r.repeats[i])
		}
		return nil
	})
}

func init() { transforms.RegisterSum[score.ThresholdCounts](beginThreshold) }

// Threshold is a pass that counts the values that a threshold between two classes is compared with, for
// the rows of the first fold, with weights that were fitted without this fold. Its sum is score.ThresholdCounts. The
// half of a row follows from the hash of its fold. Rows without a finite score are not counted.
type Threshold struct {
	transforms.Pass
	HeldOut
	Probabilities *HeldOutProbabilities `json:"probabilities,omitempty"` // nil if the model has none
	Positive      int                   `json:"positive"`                // class that is predicted above the threshold
}

// HeldOutProbabilities are the probabilities of a model that is fitted to held-out rows, and of the same model fitted to
// one half of them (see score.Half).
type HeldOutProbabilities struct {
	All  *models.Probabilities    `json:"all"`
	Half [2]*models.Probabilities `json:"half"` // fitted to the rows of this half only
}

// beginThreshold counts the margins, or the probabilities, of the positive class, in two halves of the rows.
func beginThreshold(ctx context.Context, r *transforms.Reader, p *Threshold) (transforms.Accumulator, error) {
	counts, scratch := score.NewThresholdCounts(), make([]float32, 2)
	return p.HeldOut.accumulator(ctx, r, &p.Pass, counts, func(r *heldRows) error {
		for i, y := range r.y {
			row := r.scores[2*i : 2*i+2]
			if !exact.AllFinite(row) {
				continue
			}
			value := func(of *models.Probabilities) float32 {
				copy(scratch, row)
				of.Apply(scratch, row, 1, 2)
				return scratch[p.Positive]
			}
			margin, kind, half := score.Margin(row, p.Positive), 0, score.Half(r.hashes[i])
			v := score.ThresholdValues{All: margin, Own: margin, Other: margin}
			if h := p.Probabilities; h != nil {
				v = score.ThresholdValues{All: value(h.All), Own: value(h.Half[half]), Other: value(h.Half[1-half])}
			}
			if int(y) == p.Positive {
				kind = 1
			}
			counts.Add(half, v, kind, r.repeats[i])
		}
		return nil
	})
}

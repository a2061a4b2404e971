package scores

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/transforms"
)

func init() { transforms.RegisterSum[score.Halves]("threshold", beginThreshold) }

// Threshold is a pass that counts the values that a threshold between two classes is compared with, for
// the rows of the first fold, with weights that were fitted without this fold.
type Threshold struct {
	transforms.Pass
	HeldOut
	// Probabilities are the model's; nil if it has none.
	Probabilities *models.Probabilities `json:"probabilities,omitempty"`
	Positive      int                   `json:"positive"` // class that is predicted above the threshold
}

// Sum reads all rows and returns one encoded score.Halves and a JSON dataset.Report for each
// shard. The half of a row follows from its content. Rows without a finite score are not counted.
func (*Threshold) Sum(s beam.Scope, sc transforms.Scan) (counts, reports beam.PCollection) {
	return transforms.Sum(s.Scope("scores.Threshold"), sc, "threshold")
}

func beginThreshold(ctx context.Context, l *transforms.Lane, p *Threshold) (transforms.Summing, error) {
	counts := score.NewHalves()
	var probabilities []float32
	return p.HeldOut.summing(ctx, l, &p.Pass, counts, func(r *heldRows) error {
		if p.Probabilities != nil {
			probabilities = append(probabilities[:0], r.scores...)
			p.Probabilities.Apply(probabilities, r.scores, len(r.y), 2)
		}
		for i, y := range r.y {
			row := r.scores[2*i : 2*i+2]
			if !models.Finite(row) {
				continue
			}
			v, kind := score.Margin(row, p.Positive), 0
			if p.Probabilities != nil {
				v = probabilities[2*i+p.Positive]
			}
			if int(y) == p.Positive {
				kind = 1
			}
			counts.Add(int(r.hashes[i]%2), v, kind, r.repeats[i])
		}
		return nil
	})
}

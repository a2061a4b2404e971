package scores

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/transforms"
)

func init() { transforms.RegisterSum[score.CalibrationCounts]("calibration", beginCalibration) }

// Calibration is a pass that counts the scores of the rows of the first fold, computed with
// weights that were fitted without this fold.
type Calibration struct {
	transforms.Pass
	HeldOut
}

// Sum reads all rows and returns one encoded score.CalibrationCounts of the scores and classes,
// and a JSON dataset.Report for each shard. Rows without a finite score, for which the
// model predicts nothing, are not counted.
func (*Calibration) Sum(s beam.Scope, sc transforms.Scan) (counts, reports beam.PCollection) {
	return transforms.Sum(s.Scope("scores.Calibration"), sc, "calibration")
}

func beginCalibration(ctx context.Context, l *transforms.Lane, p *Calibration) (transforms.Summing, error) {
	counts := score.NewCalibrationCounts(p.Outputs)
	return p.HeldOut.summing(ctx, l, &p.Pass, counts, func(r *heldRows) error {
		return counts.Add(finiteRows(r.scores, r.y, r.repeats))
	})
}

// finiteRows moves the rows of scores that are finite to the front, and returns
// them with their classes and how often they count.
func finiteRows(scores []float32, y []float64, repeats []int64) (some []float32, class []int32, often []int64) {
	if len(y) == 0 {
		return nil, nil, nil
	}
	k := len(scores) / len(y)
	some = scores[:0]
	for i, y := range y {
		if row := scores[i*k : (i+1)*k]; models.Finite(row) {
			some, class, often = append(some, row...), append(class, int32(y)), append(often, repeats[i])
		}
	}
	return some, class, often
}

package transforms

import (
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/calibrate"
)

func init() {
	beam.RegisterDoFn(reflect.TypeOf((*calibrateFn)(nil)))
}

// Calibrations reads all rows and scores those of the first of Pass.Held folds by
// weights that were fitted without them. It returns one encoded calibrate.Counts of
// the scores and classes, and a JSON dataset.Report for each shard. Rows without a
// finite score, for which the model predicts nothing, are not counted.
func Calibrations(s beam.Scope, sc Scan) (counts, reports beam.PCollection) {
	s = s.Scope("transforms.Calibrations")
	sums, reports := sc.apply2(s, &calibrateFn{Scan: sc})
	return mergeSums(s, calibrationSum, sums), reports
}

type calibrateFn struct{ Scan Scan }

func (f *calibrateFn) ProcessElement(ctx context.Context, lane int, emit, report func([]byte)) error {
	return f.Scan.sum(ctx, lane, emit, report, func(p *Pass) (tally, error) {
		h, err := newHeldScorer(ctx, f.Scan, p)
		if err != nil {
			return tally{}, err
		}
		counts := calibrate.NewCounts(p.HeldOut.Outputs)
		return tally{counts, p.Target.Label(), func(s dataset.Shard, b *rows.Block) error {
			scores, y, err := h.of(s, b)
			if err != nil {
				return err
			}
			return counts.Add(finiteRows(scores, y))
		}}, nil
	})
}

// finiteRows moves the rows of scores that are finite to the front, and returns
// them with their classes.
func finiteRows(scores []float32, y []float64) (some []float32, class []int32) {
	if len(y) == 0 {
		return nil, nil
	}
	k := len(scores) / len(y)
	some = scores[:0]
	for i, y := range y {
		if row := scores[i*k : (i+1)*k]; finite(row) {
			some, class = append(some, row...), append(class, int32(y))
		}
	}
	return some, class
}

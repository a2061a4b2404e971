package transforms

import (
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models"
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

// heldOut holds the model that scores the rows held out, by its pass.
var heldOut = newCache(1, func(ctx context.Context, pass string) (*models.Model, error) {
	p, err := loadPass(ctx, pass)
	if err != nil {
		return nil, err
	}
	m, err := openMap(ctx, p.Calibrate.Recipe)
	if err != nil {
		return nil, err
	}
	_, dim := m.Dims()
	linear, err := LoadWeights(ctx, p.Calibrate.Weights, p.Calibrate.SHA256, p.Calibrate.Outputs, dim)
	if err != nil {
		return nil, err
	}
	return &models.Model{Manifest: &models.Manifest{Task: models.Classification}, Linear: linear, Map: m}, nil
})

type calibrateFn struct{ Scan Scan }

func (f *calibrateFn) ProcessElement(ctx context.Context, lane int, emit, report func([]byte)) error {
	return f.Scan.sum(ctx, lane, emit, report, func(p *Pass) (tally, error) {
		m, err := heldOut.get(ctx, f.Scan.Pass)
		if err != nil {
			return tally{}, err
		}
		a := &applier{model: m, threads: f.Scan.Threads}
		counts := calibrate.NewCounts(p.Calibrate.Outputs)
		var hashes []uint64
		var held rows.Block
		dealer := p.dealer()
		return tally{counts, p.Target.Label(), func(s dataset.Shard, b *rows.Block) (err error) {
			if hashes, err = dealer.Hashes(hashes[:0], place(s), b); err != nil {
				return err
			}
			held.Reset(b.D)
			for i, h := range hashes {
				if h%uint64(p.Held) == 0 {
					held.X, held.Y = append(held.X, b.Row(i)...), append(held.Y, b.Y[i])
					held.N++
				}
			}
			return counts.Add(finiteRows(a.apply(&held).scores, held.Y))
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

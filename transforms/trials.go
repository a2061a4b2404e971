package transforms

import (
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/score"
)

func init() {
	beam.RegisterDoFn(reflect.TypeOf((*trialsFn)(nil)))
}

// Trials reads all rows and scores those of the first of Pass.Held folds by the weights
// of Pass.HeldOut.Fits fits, none of which has learned from them. It returns one
// encoded score.Trials, where targets are from −1 to 1 as scores are, and a JSON
// dataset.Report for each shard.
func Trials(s beam.Scope, sc Scan) (sum, reports beam.PCollection) {
	s = s.Scope("transforms.Trials")
	sums, reports := sc.apply2(s, &trialsFn{Scan: sc})
	return mergeSums(s, trialScores, sums), reports
}

type trialsFn struct{ Scan Scan }

func (f *trialsFn) ProcessElement(ctx context.Context, lane int, emit, report func([]byte)) error {
	return f.Scan.sum(ctx, lane, emit, report, func(p *Pass) (tally, error) {
		h, err := newHeldScorer(ctx, f.Scan, p)
		if err != nil {
			return tally{}, err
		}
		sum, k := score.NewTrials(p.HeldOut.Fits), p.HeldOut.Fits*p.HeldOut.Outputs
		return tally{sum, p.Target.Label(), func(s dataset.Shard, b *rows.Block) error {
			scores, y, err := h.of(s, b)
			for i, y := range y {
				row := scores[i*k : (i+1)*k]
				if g := p.Target.Grid; g != nil {
					sum.AddTarget((y-g.Mid())/g.Half(), row)
				} else {
					sum.AddClass(int(y), row)
				}
			}
			return err
		}}, nil
	})
}

package transforms

import (
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/folds"
)

func init() {
	beam.RegisterDoFn(reflect.TypeOf((*censusFn)(nil)))
	beam.RegisterDoFn(reflect.TypeOf((*tallyFn)(nil)))
}

// Census reads all rows and counts the candidates of Pass.Count. It returns one
// encoded folds.Census, and a JSON dataset.Report for each shard.
func Census(s beam.Scope, sc Scan) (sum, reports beam.PCollection) {
	s = s.Scope("transforms.Census")
	sums, reports := sc.apply2(s, &censusFn{Scan: sc})
	return mergeSums(s, censusSum, sums), reports
}

type censusFn struct{ Scan Scan }

func (f *censusFn) ProcessElement(ctx context.Context, lane int, emit, report func([]byte)) error {
	return f.Scan.sum(ctx, lane, emit, report, func(p *Pass) (tally, error) {
		sum := folds.NewCensus(p.Count.Candidates, p.Seed, p.Target.labels())
		var hashes []uint64
		return tally{sum, p.Target.Label(), func(_ dataset.Shard, b *rows.Block) error {
			hashes = rows.HashBlock(hashes[:0], p.Seed, b)
			sum.AddBlock(b, hashes)
			return nil
		}}, nil
	})
}

// Tallies reads all rows and counts the contents of Pass.Count in each shard. It
// returns one encoded folds.Counts, and a JSON dataset.Report for each shard.
func Tallies(s beam.Scope, sc Scan) (sum, reports beam.PCollection) {
	s = s.Scope("transforms.Tallies")
	sums, reports := sc.apply2(s, &tallyFn{Scan: sc})
	return mergeSums(s, tallySum, sums), reports
}

type tallyFn struct{ Scan Scan }

func (f *tallyFn) ProcessElement(ctx context.Context, lane int, emit, report func([]byte)) error {
	return f.Scan.sum(ctx, lane, emit, report, func(p *Pass) (tally, error) {
		sum := folds.NewTally(p.Count.Frequent, p.Count.Contents, p.Seed, p.Target.labels())
		return tally{sum, p.Target.Label(), func(s dataset.Shard, b *rows.Block) error {
			sum.AddBlock(place(s), b)
			return nil
		}}, nil
	})
}

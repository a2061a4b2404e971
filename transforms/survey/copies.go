package survey

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/transforms"
)

func init() { transforms.RegisterSum[profile.FoldTally]("tally", tally) }

// Tally is a pass that counts rows by content in each shard, for data with few different rows.
type Tally struct{ transforms.Pass }

// Sum reads all rows and returns one encoded profile.FoldTally, and a JSON dataset.Report for
// each shard.
func (*Tally) Sum(s beam.Scope, sc transforms.Scan) (sum, reports beam.PCollection) {
	return transforms.Sum(s.Scope("survey.Tally"), sc, "tally")
}

func tally(_ context.Context, _ *transforms.Lane, p *Tally) (transforms.Summing, error) {
	sum := new(profile.FoldTally)
	return transforms.Summing{Sum: sum, Label: p.Target.Label(), Add: func(at profile.FoldPlace, b *rows.Block) error {
		sum.AddBlock(at, b, p.Seed, p.Target.Labels())
		return nil
	}}, nil
}

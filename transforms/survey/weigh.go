package survey

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/transforms"
)

func init() { transforms.RegisterSum[profile.WeightSum]("weigh", weigh) }

// Weigh is a pass that collects the weights of rows.
type Weigh struct{ transforms.Pass }

// Sum reads all rows and returns one encoded profile.WeightSum, and a JSON dataset.Report for each
// shard.
func (*Weigh) Sum(s beam.Scope, sc transforms.Scan) (sum, reports beam.PCollection) {
	return transforms.Sum(s.Scope("survey.Weigh"), sc, "weigh")
}

func weigh(_ context.Context, _ *transforms.Lane, p *Weigh) (transforms.Summing, error) {
	sum := new(profile.WeightSum)
	return transforms.Summing{Sum: sum, Label: p.Target.Label(), Add: func(_ profile.FoldPlace, b *rows.Block) error {
		for _, w := range b.Weights {
			if w > 0 {
				sum.Add(w)
			}
		}
		return nil
	}}, nil
}

package survey

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/folds"
	"github.com/bochner-ml/bochner/transforms"
)

func init() {
	transforms.RegisterSum[folds.Census]("census", census)
	transforms.RegisterSum[folds.Counts]("tally", tally)
}

// Census is a pass that counts rows that may be frequent.
type Census struct {
	transforms.Pass
	Candidates folds.Set `json:"candidates"` // of the profile's folds.Summary
}

// Sum reads all rows and returns one encoded folds.Census, and a JSON dataset.Report for
// each shard.
func (*Census) Sum(s beam.Scope, sc transforms.Scan) (sum, reports beam.PCollection) {
	return transforms.Sum(s.Scope("survey.Census"), sc, "census")
}

func census(_ context.Context, _ *transforms.Lane, p *Census) (transforms.Summing, error) {
	sum := folds.NewCensus(p.Candidates, p.Seed, p.Target.Labels())
	var hashes []uint64
	return transforms.Summing{Sum: sum, Label: p.Target.Label(), Fold: func(_ folds.Place, b *rows.Block) error {
		hashes = rows.HashBlock(hashes[:0], p.Seed, b)
		sum.AddBlock(b, hashes)
		return nil
	}}, nil
}

// Tally is a pass that counts the contents of frequent rows in each shard.
type Tally struct {
	transforms.Pass
	Frequent folds.Set `json:"frequent"` // rows
	Contents folds.Set `json:"contents"` // of them
}

// Sum reads all rows and returns one encoded folds.Counts, and a JSON dataset.Report for
// each shard.
func (*Tally) Sum(s beam.Scope, sc transforms.Scan) (sum, reports beam.PCollection) {
	return transforms.Sum(s.Scope("survey.Tally"), sc, "tally")
}

func tally(_ context.Context, _ *transforms.Lane, p *Tally) (transforms.Summing, error) {
	sum := folds.NewTally(p.Frequent, p.Contents, p.Seed, p.Target.Labels())
	return transforms.Summing{Sum: sum, Label: p.Target.Label(), Fold: func(at folds.Place, b *rows.Block) error {
		sum.AddBlock(at, b)
		return nil
	}}, nil
}

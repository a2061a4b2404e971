package survey

import (
	"context"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/transforms"
)

func init() { transforms.RegisterSum[profile.Sum](beginSample) }

// Sample is a pass that counts the training rows and takes a sample of them. Its sum is a profile.Sum of these rows
// and their weights. The last columns of a sampled row are its labels: the index of its class, or its targets as
// fractions of their ranges. The columns of Weigh follow.
type Sample struct {
	transforms.Pass
	Folds  int `json:"folds,omitempty"`  // number of folds, the first of which is held out; 0 holds out nothing
	Sample int `json:"sample,omitempty"` // rows of the sample, of any length; 0 means as many as in a profile
	// Weigh appends to each row its weight, or 1, and the number of its pilot among Pilots, or -1.
	// The pilot follows from the key that assigns rows to folds; -1 means that their content does.
	Weigh  bool `json:"weigh,omitempty"`
	Pilots int  `json:"parts,omitempty"`
}

// beginSample sums the rows that are not held out, with their labels.
func beginSample(_ context.Context, _ *transforms.Reader, p *Sample) (transforms.Accumulator, error) {
	sum := profile.New(profile.Options{Sample: p.Sample, Long: p.Sample > 0})
	var hashes, samples, mine []uint64
	var labeled rowio.Block
	assigner := p.Assigner()
	more := 0
	if p.Weigh {
		more = 2
	}
	return transforms.Accumulator{Sum: sum, Label: p.Target.Label(),
		Add: func(at profile.ShardStart, b *rowio.Block) (err error) {
			if hashes, err = assigner.Hashes(hashes[:0], at, b); err != nil {
				return err
			}
			samples, mine = assigner.Samples(samples, hashes, b), mine[:0]
			labeled.Reset(b.D + max(1, len(p.Target.Grid)) + more)
			for i, h := range hashes {
				if !assigner.Trains(h, p.Folds) {
					continue
				}
				labeled.X = append(labeled.X, b.Row(i)...)
				for c, y := range b.Labels(i) {
					if grid := p.Target.Grid; grid != nil {
						labeled.X = append(labeled.X, grid[c].Scaled(y))
					} else {
						labeled.X = append(labeled.X, float32(y))
					}
				}
				if p.Weigh {
					w := 1.0
					if len(b.Weights) > 0 {
						w = b.Weights[i]
					}
					labeled.X = append(labeled.X, float32(w), float32(assigner.Pilot(h, p.Pilots)))
				}
				if len(b.Weights) > 0 {
					labeled.Weights = append(labeled.Weights, b.Weights[i])
				}
				labeled.N++
				mine = append(mine, samples[i])
			}
			sum.AddBlock(&labeled, mine)
			return nil
		}}, nil
}

func init() { transforms.RegisterSum[schema.Survey](beginColumns) }

// Columns is a pass that surveys the columns of a format with columns, from which
// schema.Infer finds their types. It reads no labels: no row is set aside for its values. Its sum is a schema.Survey.
type Columns struct {
	transforms.Pass
	Columns int          `json:"columns"` // number of columns that readers describe
	Rules   schema.Rules `json:"rules"`
}

func beginColumns(_ context.Context, r *transforms.Reader, p *Columns) (transforms.Accumulator, error) {
	sum := schema.NewSurvey(p.Columns, p.Rules)
	r.Request.Describe = sum // no other goroutine uses the sum until all records are read
	return transforms.Accumulator{Sum: sum, Add: func(profile.ShardStart, *rowio.Block) error { return nil }}, nil
}

func init() { transforms.RegisterSum[profile.ContentCounts](beginContents) }

// Contents is a pass that counts rows by content in each shard, for data with few different rows. Its sum is
// profile.ContentCounts.
type Contents struct{ transforms.Pass }

func beginContents(_ context.Context, _ *transforms.Reader, p *Contents) (transforms.Accumulator, error) {
	sum := new(profile.ContentCounts)
	return transforms.Accumulator{Sum: sum, Label: p.Target.Label(), Add: func(at profile.ShardStart, b *rowio.Block) error {
		sum.AddBlock(at, b, p.Seed, p.Target.Labels())
		return nil
	}}, nil
}

func init() { transforms.RegisterSum[profile.WeightSum](beginWeights) }

// Weights is a pass that collects the weights of rows with a label, which may be any text if Target is nil. Its sum is a
// profile.WeightSum.
type Weights struct{ transforms.Pass }

func beginWeights(_ context.Context, _ *transforms.Reader, p *Weights) (transforms.Accumulator, error) {
	sum, label := new(profile.WeightSum), p.Target.Label()
	if label == nil {
		label = func([]byte) (float64, string) { return 0, "" }
	}
	return transforms.Accumulator{Sum: sum, Label: label, Add: func(_ profile.ShardStart, b *rowio.Block) error {
		for _, w := range b.Weights {
			if w > 0 {
				sum.Add(w)
			}
		}
		return nil
	}}, nil
}

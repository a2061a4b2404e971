// Package survey holds the passes that describe rows before a model is fitted. Columns surveys the
// columns of a table, Profile computes statistics of all rows and labels, Sample samples the training
// rows, Contents counts repeated rows, Targets sums labels by the levels of categories, and Weights
// collects the weights of rows. transforms.Sum adds such a pass to a pipeline.
package survey

import (
	"context"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/transforms"
)

func init() { transforms.RegisterSum[ProfileSum](beginProfile) }

// Profile is a pass that computes the profile of rows, and of their labels if it has a
// target. Its sum is a ProfileSum.
type Profile struct{ transforms.Pass }

// ProfileSum is the result of a profile pass. It depends only on the rows.
type ProfileSum struct {
	Profile  profile.Sum
	Distinct profile.DistinctRows // rows, under transforms.Pass.Seed
	Keys     profile.FoldKeys     // of rows
	Levels   profile.LevelCounts  // of rows
}

// Code implements wire.Coded.
func (l *ProfileSum) Code(c *wire.Coder) {
	l.Profile.Code(c)
	l.Distinct.Code(c)
	l.Keys.Code(c)
	l.Levels.Code(c)
}

// Merge adds the result of another reader.
func (l *ProfileSum) Merge(m *ProfileSum) {
	l.Profile.Merge(&m.Profile)
	l.Distinct.Merge(&m.Distinct)
	l.Keys.Merge(&m.Keys)
	l.Levels.Merge(&m.Levels)
}

// beginProfile computes the profile of rows, and of their labels if the pass has a
// target.
func beginProfile(_ context.Context, _ *transforms.Reader, p *Profile) (transforms.Accumulator, error) {
	sum := &ProfileSum{Profile: *profile.NewTable(profile.Options{}, values(p.Data.Schema.Table))}
	var label dataset.Label
	switch t := p.Target; {
	case t == nil: // rows without labels
	case len(p.Data.Targets) > 0:
		label = schema.ParseTarget // only the ranges of the targets are needed
	default:
		parse := t.Label()
		label = func(token []byte) (float64, string) {
			if !t.Open {
				if _, reason := parse(token); reason != "" {
					return 0, reason
				}
			}
			// no other goroutine reads the labels until all rows are read
			return float64(sum.Profile.AddLabel(token)), ""
		}
	}
	var hashes []uint64
	return transforms.Accumulator{Sum: sum, Label: label, Add: func(_ profile.ShardStart, b *rowio.Block) error {
		hashes = rowio.HashBlock(hashes[:0], p.Seed, b)
		sum.Profile.AddBlock(b, hashes)
		if len(p.Data.Targets) > 0 && p.Target != nil {
			sum.Profile.AddTargets(b)
		}
		sum.Distinct.AddBlock(p.Seed, b)
		sum.Keys.AddBlock(b, hashes)
		sum.Levels.AddBlock(b)
		return nil
	}}, nil
}

// values returns, for each value of a row, the number of its different values if it is a category,
// otherwise 0. It returns nil for plain numbers.
func values(t *schema.Table) (values []int) {
	if t == nil {
		return nil
	}
	for i := range t.Columns {
		for range t.Columns[i].Width() {
			values = append(values, t.Columns[i].Values())
		}
	}
	return values
}

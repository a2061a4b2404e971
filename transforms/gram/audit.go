package gram

import (
	"context"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/audit"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/transforms"
)

func init() { transforms.RegisterSum[Audited](beginAudit) }

// Audit is a pass that reads the rows again, to check the sums of a Pass with package models/audit. Its sum is Audited.
type Audit struct{ Pass }

// Audited is the result of an Audit: the values that package audit computes from the rows of each
// fold (Left, level by level), and for each level the frequent rows that are counted separately.
type Audited struct {
	Left   []uint64
	Copies [][]profile.FrequentRow
}

// Merge adds the result for other rows.
func (a *Audited) Merge(b *Audited) {
	for j, v := range b.Left {
		a.Left[j] = exact.AddResidues(a.Left[j], v)
	}
	for i, c := range b.Copies {
		a.Copies[i], _ = profile.AddFrequentRows(a.Copies[i], c, 1) // fails only if copies are subtracted
	}
}

// Code implements wire.Coded.
func (a *Audited) Code(c *wire.Coder) {
	if n := c.Int(len(a.Left), 1<<31); c.Reading() {
		a.Left = make([]uint64, min(n, c.Left()/8))
	}
	for j := range a.Left {
		c.Uint64(&a.Left[j])
	}
	wire.Each(c, &a.Copies, sums.MaxLevels+1, func(frequent *[]profile.FrequentRow) {
		copies := profile.AppendFrequentRows(nil, *frequent)
		c.Bytes(&copies, transforms.MaxState)
		if c.Reading() {
			var err error
			*frequent, err = profile.DecodeFrequentRows(copies)
			c.Check(err == nil)
		}
	})
}

// beginAudit returns the sum of one reader of an Audit. It uses an Accumulator whose folds audit instead
// of summing.
func beginAudit(_ context.Context, r *transforms.Reader, p *Audit) (transforms.Accumulator, error) {
	s, err := NewAccumulator(r.Task, r.Stripe, &p.Pass)
	if err != nil {
		return transforms.Accumulator{}, err
	}
	n := audit.Len(s.shape)
	sum := &Audited{Left: make([]uint64, n*len(s.folds)), Copies: make([][]profile.FrequentRow, len(s.sets()))}
	for i, f := range s.folds {
		f.audit, f.left = &audit.Audit{Shape: s.shape, Random: p.Spec.Random}, sum.Left[i*n:][:n]
	}
	return transforms.Accumulator{Sum: sum, Label: p.Target.Label(), Add: s.add, Done: func(*dataset.Report) error {
		s.flush() // ignore the count of features beyond the grid: the audited sums have the same ones
		if p.Spec.Frequent == nil {
			return nil
		}
		audited := new(Audited)
		for _, set := range s.sets() {
			audited.Copies = append(audited.Copies, set.copies.Rows())
		}
		sum.Merge(audited)
		s.startCopyCounts()
		return nil
	}}, nil
}

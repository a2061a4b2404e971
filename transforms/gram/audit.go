package gram

import (
	"context"
	"crypto/rand"
	"encoding/binary"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/transforms"
)

func init() { transforms.RegisterSum[Audited]("audit", beginAudit) }

// Audit is a pass that compares the sums of a Pass with the rows: see ridge.Audit. Fold.Random is what
// RandomResidues returns.
type Audit struct{ Pass }

// RandomResidues returns n numbers below exact.Prime, uniform and independent, that nobody can predict.
func RandomResidues(n int) []uint64 {
	out, b := make([]uint64, 0, n), make([]byte, 8)
	for len(out) < n {
		rand.Read(b) // does not fail
		if v := binary.LittleEndian.Uint64(b) >> 3; v < exact.Prime {
			out = append(out, v)
		}
	}
	return out
}

// Sum reads all rows and returns one encoded Audited, and a JSON dataset.Report for each shard.
func (*Audit) Sum(s beam.Scope, sc transforms.Scan) (sum, reports beam.PCollection) {
	return transforms.Sum(s.Scope("gram.Audit"), sc, "audit")
}

// Audited is the result of an Audit.
type Audited struct {
	Folds  []*ridge.Audit
	Copies []profile.Content // the rows counted apart
}

// Merge adds the rows of b.
func (a *Audited) Merge(b *Audited) {
	for f := range b.Folds {
		a.Folds[f].Merge(b.Folds[f])
	}
	a.Copies, _ = profile.AddContents(a.Copies, b.Copies, 1) // fails only where copies are subtracted
}

// Code implements wire.Coded.
func (a *Audited) Code(c *wire.Coder) {
	folds, copies := c.Int(len(a.Folds), c.Left()), profile.AppendContents(nil, a.Copies)
	if c.Reading() {
		a.Folds = make([]*ridge.Audit, folds)
	}
	for f := range a.Folds {
		if c.Reading() {
			a.Folds[f] = new(ridge.Audit)
		}
		a.Folds[f].Code(c)
	}
	if c.Bytes(&copies, transforms.MaxState); c.Reading() {
		var err error
		a.Copies, err = profile.DecodeContents(copies)
		c.Check(err == nil)
	}
}

func beginAudit(_ context.Context, l *transforms.Lane, p *Audit) (transforms.Summing, error) {
	s, err := NewSummer(l, &p.Pass)
	if err != nil {
		return transforms.Summing{}, err
	}
	sum := new(Audited)
	for _, f := range s.folds {
		sum.Folds = append(sum.Folds, f.audit)
	}
	return transforms.Summing{Sum: sum, Label: p.Target.Label(), Fold: s.add, Done: func(*dataset.Report) error {
		s.flush() // features beyond the grid are in sums of the same rows, too
		if s.apart != nil {
			sum.Merge(&Audited{Copies: s.apart.Contents()})
			s.countApart()
		}
		return nil
	}}, nil
}

// CheckWeights compares the weights of a model with the sum of all folds, but for rows counted apart: see
// ridge.CheckWeights. It overwrites the sum. m is the map of the recipe.
func (p *Pass) CheckWeights(total *ridge.Sum, apart []profile.Content, m features.Gridded, lambda float64,
	w *models.Linear, threads int) (r ridge.Residual, err error) {
	c, err := assign(p, apart)
	if err != nil {
		return r, err
	}
	for f := range p.Fold.Folds {
		if err := c.add(total, f, m, p, threads); err != nil {
			return r, err
		}
	}
	step, ranges := ridge.GridOf(m, p.Fold.Steps)
	return ridge.CheckWeights(total, ridge.Options{Threads: threads,
		Units: ridge.Units{Step: step, Ranges: ranges, Grid: p.grid(), Weights: p.Fold.Weights}}, lambda, w)
}

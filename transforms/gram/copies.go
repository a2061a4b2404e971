package gram

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/transforms"
)

// FrequentRows returns the frequent rows that the readers of a pass have counted separately.
func FrequentRows(reports []ShardReport) ([]profile.FrequentRow, error) {
	var all []profile.FrequentRow
	for _, r := range reports {
		var err error
		if all, err = AddFrequentRows(all, r.Copies); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// AddFrequentRows adds separately counted rows, encoded as in a ShardReport, to others.
func AddFrequentRows(all []profile.FrequentRow, encoded []byte) ([]profile.FrequentRow, error) {
	if len(encoded) == 0 {
		return all, nil
	}
	decoded, err := profile.DecodeFrequentRows(encoded)
	if err != nil {
		return nil, err
	}
	return profile.AddFrequentRows(all, decoded, 1)
}

// copies holds frequent rows, and in which folds their copies are.
type copies struct {
	encoder  *preprocess.TargetEncoder
	frequent []profile.FrequentRow
	groups   [][]group // groups of each frequent row
}

// group is a set of copies of one row in one fold that have equal features.
type group struct {
	fold int
	hash uint64 // hash of any of these copies, which target encoding depends on
	n    int64  // number of copies
}

// readCopies reads the separately counted rows in the reports of a pass, and assigns their copies to folds.
func readCopies(ctx context.Context, p *Pass, st State) (*copies, error) {
	if p.Spec.Frequent == nil {
		return nil, nil
	}
	reports, err := transforms.ReadLines[ShardReport](ctx, st.Reports)
	if err != nil {
		return nil, err
	}
	frequent, err := FrequentRows(reports)
	if err != nil {
		return nil, fmt.Errorf("gram: reports %s: %w", st.Reports, err)
	}
	return newCopies(p, frequent)
}

// newCopies assigns the copies of frequent rows to folds.
func newCopies(p *Pass, frequent []profile.FrequentRow) (c *copies, err error) {
	c = &copies{frequent: frequent}
	if c.encoder, err = transforms.TargetEncoder(p.Spec.Recipe); err != nil {
		return nil, err
	}
	for i := range c.frequent {
		row := &c.frequent[i]
		var groups []group
		for k := range row.Copies {
			h := profile.CopyHash(row.Hash, k)
			fold, part := p.Spec.SumOf(h), c.encoder.Part(h)
			at := slices.IndexFunc(groups, func(g group) bool { return g.fold == fold && c.encoder.Part(g.hash) == part })
			if at < 0 {
				at, groups = len(groups), append(groups, group{fold: fold, hash: h})
			}
			groups[at].n++
		}
		c.groups = append(c.groups, groups)
	}
	return c, nil
}

// SumCopies adds to the sum of a fold the copies of frequent rows that are assigned to this fold.
// frequent are the rows that a directory of sums counts separately, r its recipe, and m the map of the
// recipe. The classes are the sum's.
func SumCopies(to *ridge.Sum, fold int, r *sums.Recipe, m features.Gridded, frequent []profile.FrequentRow,
	threads int) error {
	if len(frequent) == 0 {
		return nil
	}
	p := &Pass{Pass: transforms.Pass{Target: &transforms.Labeling{Grid: r.TargetGrid}}, Spec: SpecOf(r, to.Shape().Outputs)}
	c, err := newCopies(p, frequent)
	if err != nil {
		return err
	}
	return c.add(to, fold, m, p, threads)
}

// add adds the copies in a fold to the sum of the fold. It does nothing if c is nil.
func (c *copies) add(sum *ridge.Sum, fold int, m features.Gridded, p *Pass, threads int) error {
	if c == nil {
		return nil
	}
	in, out := m.Dims()
	z := features.NewGrid(out, p.Spec.Steps)
	var b rowio.Block
	var n, weights []int64
	flush := func() error {
		if b.N == 0 {
			return nil
		}
		weights = nil
		if p.Spec.Weights != nil {
			weights = p.Spec.Weights.AppendWeights(nil, &b, 0, b.N)
		}
		if m.Quantize(z, b.X, b.N, threads) > 0 {
			return errors.New("gram: features of frequent rows exceed the bound of the recipe")
		}
		sum.AddCopies(z, b.Y, p.grid(), weights, n, threads)
		b.Reset(in)
		n = n[:0]
		return nil
	}
	b.Reset(in)
	for i := range c.frequent {
		row := &c.frequent[i]
		if len(row.X) != in {
			return fmt.Errorf("gram: a frequent row has %d values, want %d", len(row.X), in)
		}
		for _, g := range c.groups[i] {
			if g.fold != fold {
				continue
			}
			b.X, b.Y, n = append(b.X, row.X...), append(b.Y, row.Y...), append(n, g.n)
			if row.Weight > 0 {
				b.Weights = append(b.Weights, row.Weight)
			}
			c.encoder.Row(b.X[len(b.X)-in:], g.hash)
			b.N++
			if b.N == rowio.RowsPerBlock(in) {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

// meanShare returns the share of all rows that are copies of one frequent row, averaged over the
// frequent rows.
func (p *Pass) meanShare() float64 {
	if p.Spec.Frequent != nil {
		return p.Spec.Frequent.Mean
	}
	return p.Copies.MeanShare()
}

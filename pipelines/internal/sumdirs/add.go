// Package sumdirs chooses directories of sums and adds them up. Sums are exact, so adding and
// subtracting sums of parts of the data gives the same bytes as summing the remaining rows.
//
// Open opens directories as Terms, Add adds what their manifests record to a Total, and
// Total.Write adds the sums themselves. Audit checks sums against rows, and a model against sums.
package sumdirs

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/registry"
	"github.com/bochner-ml/bochner/transforms/fault"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// Total holds the total of what the manifests of sums record: rows, classes and lineage.
type Total struct {
	Terms     []Term
	Recipe    *sums.Recipe
	Added     training.AddedRows
	Leaves    []sums.Leaf
	Forgotten []string
}

// Add adds up the manifests of the terms. It does not read the sums.
func Add(ctx context.Context, terms []Term) (*Total, error) {
	t := &Total{Terms: terms, Recipe: terms[0].Recipe}
	gone := map[string]bool{}
	for _, d := range terms {
		if d.Sign < 0 {
			for _, l := range d.Leaves {
				gone[l.Digest] = true
			}
		}
	}
	counts := map[string]int64{}
	var names []string
	rows := &t.Added.Rows
	for _, d := range terms {
		rows.Read += d.Sign * d.Rows.Read
		rows.Used += d.Sign * d.Rows.Used
		rows.SetAside += d.Sign * d.Rows.SetAside
		for i, c := range d.Classes {
			counts[c] += d.Sign * d.ClassCounts[i]
			names = append(names, c)
		}
		if d.Sign < 0 {
			continue
		}
		for _, l := range d.Leaves {
			if !gone[l.Digest] {
				t.Leaves = append(t.Leaves, l)
			}
		}
		t.Forgotten = append(t.Forgotten, d.Forgotten...)
	}
	slices.SortStableFunc(t.Leaves, func(a, b sums.Leaf) int { // the order of adding does not matter
		return slices.Compare([]string{a.Name, a.Digest}, []string{b.Name, b.Digest})
	})
	slices.Sort(t.Forgotten)
	if rows.Used < 0 || rows.SetAside < 0 {
		return nil, notInSumsf("%d more rows would be subtracted than the sums have", max(-rows.Used, -rows.SetAside))
	}
	if err := t.classes(names, counts); err != nil {
		return nil, err
	}
	for _, d := range terms {
		copies, err := t.copiesOf(ctx, d)
		if err != nil {
			return nil, err
		}
		if t.Added.Copies, err = profile.AddFrequentRows(t.Added.Copies, copies, d.Sign); err != nil {
			return nil, notInSumsf("%w", err)
		}
	}
	return t, nil
}

// copiesOf returns the frequent rows of a term, which are counted instead of summed, with the class
// indices of the total.
func (t *Total) copiesOf(ctx context.Context, d Term) ([]profile.FrequentRow, error) {
	copies, err := d.FrequentRows(ctx)
	if v := t.Added.Classes; v != nil {
		for i := range copies {
			class, ok := v.Index([]byte(d.Classes[int(copies[i].Y[0])]))
			if !ok {
				return nil, notInSumsf("copies of a frequent row would be of no class")
			}
			copies[i].Y[0] = float64(class)
		}
	}
	return copies, err
}

// eachPart adds up the sums of a fold of some terms, without the frequent rows that are counted instead, and calls
// f with each part of their total. f must not keep the slice.
func (t *Total) eachPart(ctx context.Context, terms []Term, shape ridge.Shape, fold int,
	f func(part int, sum []float64) error) error {
	a, err := t.newAdder(terms, shape)
	if err != nil {
		return err
	}
	defer a.reader.Close()
	for i := range a.shape.NumParts() {
		if err := a.add(ctx, fold, i); err != nil {
			return err
		}
		if err := f(i, a.sum); err != nil {
			return err
		}
	}
	return nil
}

// AddFold adds the sums of a fold of one term, including its frequent rows, to a sum with the
// classes of the total. m is the feature map of the recipe.
func (t *Total) AddFold(ctx context.Context, to *ridge.Sum, d Term, fold int, m features.Gridded) error {
	if err := t.eachPart(ctx, []Term{d}, to.Shape(), fold, to.AddPart); err != nil {
		return err
	}
	copies, err := t.copiesOf(ctx, d)
	if err != nil {
		return err
	}
	return gram.SumCopies(to, fold, d.Recipe, m, copies, 1)
}

// Units returns the units of the sums, given the head of the total.
func (t *Total) Units(m features.Gridded, head []float64) (u ridge.Units) {
	u.Step, u.Ranges = ridge.GridOf(m, t.Recipe.Rule.Steps)
	u.Grid = t.Recipe.TargetGrid
	if t.Added.Classes != nil {
		u.Classes = t.Added.Classes.Classes
	}
	_, u.Weights = t.Recipe.Rule.Weigh(slices.Clone(head), nil, u.Grid != nil)
	return u
}

// notInSumsf returns the error for subtracting rows that are not in the sums.
func notInSumsf(format string, args ...any) error {
	return exit.Dataf("pipelines: the rows to subtract are not all in the sums: %w", fmt.Errorf(format, args...))
}

// classes sets the classes of the total: the classes of the recipe, and all others that rows have.
func (t *Total) classes(names []string, counts map[string]int64) error {
	if t.Recipe.Classes == nil {
		return nil
	}
	var others []string
	for _, name := range names {
		if n := counts[name]; n < 0 {
			return notInSumsf("%d more rows of the class %q would be subtracted than the sums have", -n, name)
		} else if n > 0 {
			others = append(others, name)
		}
	}
	v, err := t.Recipe.Union(schema.NewVocabulary(others).Classes)
	if err != nil {
		return exit.Dataf("pipelines: %w", err)
	}
	t.Added.Classes, t.Added.ClassCounts = v, make([]int64, len(v.Classes))
	for i, name := range v.Classes {
		t.Added.ClassCounts[i] = counts[name]
	}
	return nil
}

// Write adds up the sums, part by part, and stores them as the sums of s.
func (t *Total) Write(ctx context.Context, s *training.WorkSums, threads int) error {
	s.Copies = t.Added.Copies
	n := s.Shape.NumParts()
	w := gram.NewSumsWriter(s.State, s.Folds, s.Shape)
	adders := make(chan *adder, max(1, threads))
	for range cap(adders) {
		a, err := t.newAdder(t.Terms, s.Shape)
		if err != nil {
			return err
		}
		defer a.reader.Close()
		adders <- a
	}
	var tasks errgroup.Group
	tasks.SetLimit(cap(adders))
	for run := range w.Runs {
		if ctx.Err() != nil {
			break
		}
		tasks.Go(func() error {
			a := <-adders
			defer func() { adders <- a }()
			return fault.Guard(func() error {
				return w.Put(ctx, run, func(key int) ([]float64, error) {
					err := a.add(ctx, key/n, key%n)
					return a.sum, err
				})
			})
		})
	}
	if err := tasks.Wait(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.Close(ctx, []gram.Report{{Copies: profile.AppendFrequentRows(nil, s.Copies)}})
}

// adder adds up one part of the sums of its terms at a time. It is not safe for concurrent use.
type adder struct {
	terms          []Term
	reader         *sums.Reader
	shape          ridge.Shape
	to             [][]int // for each term, the index in the total of each of its classes; nil without classes
	sum            []float64
	read           []float64
	removedClasses map[string]float64 // rows of classes that the total lacks; must add up to 0
}

// newAdder returns an adder of some terms, with the classes of the total.
func (t *Total) newAdder(terms []Term, shape ridge.Shape) (*adder, error) {
	a := &adder{terms: terms, shape: shape}
	for _, d := range terms {
		var to []int
		if v := t.Added.Classes; v != nil {
			for _, name := range d.Classes {
				c, ok := v.Index([]byte(name))
				if !ok {
					c = -1 // the total has no rows of this class
				}
				to = append(to, c)
			}
		}
		a.to = append(a.to, to)
	}
	var err error
	a.reader, err = sums.NewReader()
	return a, err
}

// add sets a.sum to a part of the total of a fold.
func (a *adder) add(ctx context.Context, fold, part int) error {
	n := a.shape.PartLen(part)
	a.sum = slices.Grow(a.sum[:0], n)[:n]
	clear(a.sum)
	a.removedClasses = map[string]float64{}
	for k, d := range a.terms {
		var err error
		switch to := a.to[k]; {
		case to == nil || a.shape.IsTile(part):
			err = a.load(ctx, d, fold, part, n)
			for j, v := range a.read {
				a.sum[j] += float64(d.Sign) * v
			}
		case part == 0:
			err = a.addHead(ctx, d, to, fold)
		default:
			err = a.addCross(ctx, d, to, fold, part)
		}
		if err != nil {
			return err
		}
	}
	for name, n := range a.removedClasses {
		if n != 0 {
			return notInSumsf("fold %d would have %g rows of the class %q, of which none is left", fold, n, name)
		}
	}
	return nil
}

func (a *adder) load(ctx context.Context, d Term, fold, part, n int) error {
	a.read = slices.Grow(a.read[:0], n)[:n]
	return a.reader.Read(ctx, a.read, d.Dir, fold, part)
}

// addHead adds the head of a term whose classes may differ from the classes of the total.
func (a *adder) addHead(ctx context.Context, d Term, to []int, fold int) error {
	shape, sign := d.Shape(), float64(d.Sign)
	if err := a.load(ctx, d, fold, 0, shape.PartLen(0)); err != nil {
		return err
	}
	a.sum[0] += sign * a.read[0]
	for c, v := range a.read[1 : 1+len(to)] {
		if to[c] >= 0 {
			a.sum[1+to[c]] += sign * v
		} else {
			a.removedClasses[d.Classes[c]] += sign * v
		}
	}
	if shape.Weighted {
		a.sum[len(a.sum)-1] += sign * a.read[len(a.read)-1]
	}
	return nil
}

// addCross adds the cross products of such a term. A class that the term lacks has no rows there, so it adds nothing
// to its column.
func (a *adder) addCross(ctx context.Context, d Term, to []int, fold, part int) error {
	shape, sign := d.Shape(), float64(d.Sign)
	from, width, _ := a.shape.CrossPlace(part)
	rows := len(a.sum) / width
	// With another number of classes, the parts of the term are cut at other rows.
	for k := range shape.NumParts() {
		first, w, ok := shape.CrossPlace(k)
		if !ok || first >= from+rows || first+shape.PartLen(k)/w <= from {
			continue
		}
		if err := a.load(ctx, d, fold, k, shape.PartLen(k)); err != nil {
			return err
		}
		for at, v := range a.read {
			row, c := first+at/w-from, at%w
			if row >= 0 && row < rows && to[c] >= 0 {
				a.sum[row*width+to[c]] += sign * v
			}
		}
	}
	return nil
}

// Lineage returns the parts of the data that are in the total.
func (t *Total) Lineage() *registry.Lineage {
	l := &registry.Lineage{Sources: []registry.Source{}, Forgotten: t.Forgotten}
	for _, leaf := range t.Leaves {
		part := registry.Source{Name: leaf.Name, Digest: leaf.Digest, Files: registry.FilesOfInputs(leaf.Files)}
		for _, d := range t.Terms {
			if d.Sign > 0 && slices.ContainsFunc(d.Leaves, func(l sums.Leaf) bool { return l.Digest == leaf.Digest }) {
				part.Sums = d.Place
			}
		}
		l.Sources = append(l.Sources, part)
	}
	return l
}

// Contents returns the hashes of the rows in the total; rows is the number of listed hashes.
func (t *Total) Contents(ctx context.Context, rows int64) (c sums.RowHashes, err error) {
	var minus sums.RowHashes
	plus := make(sums.RowHashes, 0, rows)
	for _, d := range t.Terms {
		listed, err := d.ReadRowHashes(ctx)
		if err != nil {
			return nil, err
		}
		if d.Sign > 0 {
			plus = plus.Append(listed)
		} else {
			minus = minus.Append(listed)
		}
	}
	if c, err = sums.CombineRowHashes(plus, minus); err != nil {
		return nil, notInSumsf("%w", err)
	}
	return c, nil
}

// ClassCount returns the number of classes, 0 for a regression.
func (t *Total) ClassCount() int {
	if t.Added.Classes == nil {
		return 0
	}
	return len(t.Added.Classes.Classes)
}

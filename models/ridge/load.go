package ridge

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// problem is one call of Solve.
type problem struct {
	Options
	buffer *Sum // the last sum made by Add or of Rows; nil before it is needed
	fold   int  // the fold whose sum is in buffer; -1 for the sum of others
}

// foldSums is what a choice of λ knows of the rows of the folds.
type foldSums struct {
	total      *Sum   // of all rows; its outline if sums are reread or rows are stored
	filled     []int  // the folds that have rows
	firstRows  int64  // number of rows of the first of them
	subsetSums []*Sum // of the folds, on a subset of the features; nil unless λ is first found on it
	heads      []*Sum // head and cross products of the folds, if rows are stored
}

// merge adds the sum of the next fold. A fold is filled if the weights of its rows are not all 0.
func (l *foldSums) merge(fold int, s *Sum) {
	l.total.Merge(s)
	if s.head.Weight() > 0 {
		l.filled = append(l.filled, fold)
	}
	if len(l.filled) == 1 {
		l.firstRows = l.total.Rows()
	}
}

// heldOutErrors returns memory for computing errors on folds.
func (p *problem) heldOutErrors() *solver.HeldOutErrors {
	return solver.NewHeldOutErrors(p.From.Shape.Dim, p.From.Shape.Outputs, p.Threads)
}

// largeSum is the number of features at which a sum takes 17 MB.
const largeSum = 2048

func everyFold(int) bool { return true }

// load returns the sum of a fold. It is valid until another is loaded.
func (p *problem) load(fold int) (*Sum, error) {
	if p.From.Sums != nil {
		return p.From.Sums[fold], nil
	}
	if p.buffer != nil && p.fold == fold {
		return p.buffer, nil
	}
	p.fold = -1 // the buffer is incomplete until there is no error
	s, err := p.sumOf(func(f int) bool { return f == fold })
	if err == nil {
		p.fold = fold
	}
	return s, err
}

// add adds the sums of the folds for which the function is true.
func (p *problem) add(to *Sum, folds func(int) bool) error {
	for f := range max(p.Plan.Folds, 1) {
		switch {
		case !folds(f):
		case p.From.Rows != nil:
			to.AddGridRows(p.From.Rows.Steps, p.Threads, p.From.Rows.Folds[f])
		case p.From.Sums != nil:
			to.Merge(p.From.Sums[f])
		default:
			if err := p.From.Add(to, f); err != nil {
				return fmt.Errorf("ridge: fold %d: %w", f, err)
			}
		}
	}
	return nil
}

// sumOf returns the sum of some folds in p.buffer, valid until the next call.
func (p *problem) sumOf(folds func(int) bool) (*Sum, error) {
	p.fold = -1
	if p.buffer == nil {
		if p.From.Shape.Dim >= largeSum {
			runtime.GC() // free the old memory before more is allocated
		}
		p.buffer = NewSum(p.From.Shape)
	} else {
		p.buffer.Clear()
	}
	if err := p.add(p.buffer, folds); err != nil {
		return nil, err
	}
	return p.buffer, nil
}

// loadFolds returns the sums of the folds for a choice of λ, or only the total if λ is given.
func (p *problem) loadFolds() (*foldSums, error) {
	switch {
	case p.From.Sums == nil && !p.Plan.HoldsOut():
		total, err := p.sumOf(everyFold)
		return &foldSums{total: total}, err
	case p.From.Rows != nil:
		return p.foldsOfRows(), nil
	case p.Plan.Folds < 2:
		return &foldSums{total: p.From.Sums[0]}, nil
	}
	folds := new(foldSums)
	if p.rereads() {
		folds.total = outline(p.From.Shape)
	} else {
		folds.total = NewSum(p.From.Shape)
	}
	for f := range p.Plan.Folds {
		s, err := p.load(f)
		if err != nil {
			return nil, err
		}
		folds.merge(f, s)
		if p.descends() {
			folds.subsetSums = append(folds.subsetSums, s.pick(solver.FeatureSubset(p.From.Shape.Dim)))
		}
	}
	if p.rereads() {
		p.buffer = nil // the search begins without it
	}
	return folds, nil
}

// checkRows returns an error if no model can be fitted to the rows.
func (p *problem) checkRows(total *Sum) error {
	if total.shape.Regression != (p.Units.Grid != nil) {
		return errors.New("ridge: sums of targets need a target grid, and sums of classes must not have one")
	}
	if total.shape.Regression && len(p.Units.Grid) != total.shape.Outputs {
		return fmt.Errorf("ridge: %d grids of %d targets", len(p.Units.Grid), total.shape.Outputs)
	}
	if total.shape.Weighted != (p.Units.Weights != nil) {
		return errors.New("ridge: sums of rows with weights need their grid, and others must not have one")
	}
	if total.Rows() == 0 {
		return errNoRows
	}
	if total.head.Weight() == 0 {
		return noSolution("ridge: all %d rows have weight 0", total.Rows())
	}
	if err := checkExact(total); err != nil {
		return err
	}
	if r := p.Units.Ranges.Half; r != nil && len(r) != total.shape.Dim {
		return fmt.Errorf("ridge: ranges for %d features, want %d", len(r), total.shape.Dim)
	}
	for c, count := range total.ClassCounts() {
		if float64(count) != total.head.Weight() {
			continue
		}
		name := fmt.Sprint(c)
		if c < len(p.Units.Classes) {
			name = fmt.Sprintf("%q", p.Units.Classes[c])
		}
		return noSolution("ridge: all %d rows are of class %s; two classes are needed", total.Rows(), name)
	}
	return nil
}

// checkExact returns an error if a sum may have passed 2⁵³, above which float64 is no longer exact. Sums of
// squares grow with each row and bound all others: by Cauchy–Schwarz no sum of products, over any subset of
// the rows, is larger than the root of the product of two of them.
func checkExact(total *Sum) error {
	var largest float64
	for j := range total.shape.Dim {
		largest = max(largest, total.at(j, j))
	}
	squares := total.head.Weight() // of the constant 1, whose products are the column sums
	for c := range total.shape.Outputs {
		squares = max(squares, float64(total.moments(c).qq))
	}
	if !(largest < 1<<53) || !(math.Sqrt(largest)*math.Sqrt(squares) < 1<<53) {
		return noSolution("ridge: sums of %d rows passed 2⁵³, beyond which they are not exact; use fewer rows, or a "+
			"grid of 8 bits", total.Rows())
	}
	return nil
}

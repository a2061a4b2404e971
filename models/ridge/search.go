package ridge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// search is a choice of λ among values, by their errors on held-out folds. With many features λ is found by a
// LambdaDescent of package solver. It starts from the best value on a quarter of the features, where a solve
// costs a 64th; that value is found in the same way, on a quarter of those.
type search struct {
	*problem
	*foldSums
	eq      *system         // trials overwrite it
	dual    *solver.Problem // the dual problem of stored rows; nil if sums are solved
	values  []float64       // of λ in the order of the table: Smaller reversed, then Lambda
	tallies []tally         // of values
	method  solver.Method
	first   []moments // of the targets of the rows of fold 0, once they are predicted

	// Factors that descents use again.
	sharedFactors []trial        // the values whose factors are in memory
	single        [][]float32    // tiles for factors that are not shared; nil before they are needed
	factor        *solver.Factor // the last of them, whose memory the next one takes over
}

// undividedError is an error of rows that cannot be cross-validated, because folds without which that is impossible
// are empty.
type undividedError string

func (e undividedError) Error() string { return string(e) }

const errNoRows = undividedError("ridge: no rows to fit to")

// newSearch returns a search that has tried nothing.
func (p *problem) newSearch(eq *system, folds *foldSums) (*search, error) {
	total := folds.total
	if len(folds.filled) < 2 {
		return nil, undividedError(fmt.Sprintf("ridge: all %d rows are in fold %d of %d; cross-validation needs two folds "+
			"with rows: use more rows, or no folds", total.Rows(), folds.filled[0], p.Plan.Folds))
	}
	if p.Plan.Validation == FirstFold && folds.filled[0] != 0 {
		return nil, undividedError(fmt.Sprintf("ridge: none of %d rows is in fold 0, which is held out; use more rows, or "+
			"fewer folds", total.Rows()))
	}
	s := &search{problem: p, foldSums: folds, eq: eq, values: slices.Concat(p.Search.Smaller, p.Search.Lambda)}
	slices.Reverse(s.values[:len(p.Search.Smaller)])
	s.tallies = make([]tally, len(s.values))
	rows := p.Units.Weights.Rows(total.Rows(), eq.masses(total.head))
	s.method = solverPlan(p.Plan).MethodFor(solverShape(p.From.Shape), rows)
	if p.From.Rows != nil {
		s.dual = s.newDual()
	}
	return s, nil
}

// completeTotal sums the stored rows of all folds if sums must be solved: so far the total is only an outline, which
// is enough for the dual problem and for reading sums again.
func (s *search) completeTotal() error {
	if s.From.Rows == nil || s.dual != nil {
		return nil
	}
	s.heads = nil
	if s.rereads() {
		return nil
	}
	total, err := s.sumOf(everyFold)
	s.foldSums.total, s.buffer = total, nil // the buffer is the total
	return err
}

// run tries values until the best λ is found, and returns its index in values. coarse is true if the first fold
// has led to a λ for which the grid is too coarse.
func (s *search) run() (best int, coarse bool, err error) {
	if !s.descends() || s.dual != nil && s.total.Rows() <= solver.FewTries {
		s.subsetSums = nil
		best, err = s.descent().All()
		return best, false, err
	}
	var start int
	var before func(value int) []float64
	if s.Search.StartLambda > 0 {
		start = solver.Nearest(s.values, s.Search.StartLambda)
	} else {
		start, before = s.startOnSubset()
	}
	s.subsetSums = nil // its memory is free for the factors
	d := s.descent()
	d.Before = before
	return d.From(start)
}

// descends reports whether λ is found by a LambdaDescent. Unless StartLambda is set, it starts from a subset
// of the features.
func (p *problem) descends() bool {
	return len(p.Search.Lambda) > solver.SubsetValues && p.Plan.Folds <= solver.SubsetFolds && !p.Search.TryAll &&
		p.Plan.Validation != NoFold && p.From.Shape.Dim >= cmp.Or(p.subsetFrom, solver.SubsetFrom)
}

// descent returns a LambdaDescent among the values. Its trials overwrite the system.
func (s *search) descent() *solver.LambdaDescent {
	judges := s.filled
	if s.Plan.Validation == FirstFold {
		judges = judges[:1]
	}
	return &solver.LambdaDescent{
		Values: s.values, Smaller: len(s.Search.Smaller), Judges: judges, Rows: s.firstRows,
		Together: s.method == solver.SharedFactor,
		Ends: func(value int) bool {
			rows, _, _ := s.table()
			return s.Return.CoarseBelow > 0 && TooCoarse(rows, s.values[value], s.Return.CoarseBelow)
		},
		TryLambdas: s.tryLambdas,
		Errors: func(value int) ([]float64, float64, string) {
			row := s.row(value)
			return scaled(s.tallies[value].means, s.squareUnit()), row.MSE, row.Failed
		},
	}
}

// startOnSubset returns the index of the value from which to search: the best on a subset of the features. before
// has the errors there, for solver.LambdaDescent.Before.
func (s *search) startOnSubset() (start int, before func(value int) []float64) {
	subset, sums := solver.FeatureSubset(s.From.Shape.Dim), s.subsetSums
	if s.From.Rows != nil {
		sums = s.subsetOfRows(subset)
	}
	o := s.Options
	o.From = Source{Sums: sums, Shape: sums[0].shape}
	o.Return.Trials, o.Return.CoarseBelow = false, 0
	o.Units.Ranges = o.Units.Ranges.pick(subset)
	// The kernel is a sum over features, so with fewer of them it is smaller in proportion.
	share := float64(len(subset)) / float64(s.From.Shape.Dim)
	o.Search.Lambda, o.Search.Smaller = scaled(o.Search.Lambda, share), scaled(o.Search.Smaller, share)
	start, before, err := (&problem{Options: o}).bestAndErrors()
	if err != nil {
		return len(s.values) - 1, nil // all values failed, perhaps by rounding errors
	}
	return start, before
}

// bestAndErrors returns the index of the best value, and the errors on all folds of at least this value and its
// neighbours, for solver.LambdaDescent.Before; nil if only one fold is held out.
func (p *problem) bestAndErrors() (best int, errs func(value int) []float64, err error) {
	folds, err := p.loadFolds()
	if err != nil {
		return 0, nil, err
	}
	s, err := p.newSearch(newSystem(p.From.Shape, p.Units, errorFactors(folds.total), p.Threads), folds)
	if err != nil {
		return 0, nil, err
	}
	if best, _, err = s.run(); err != nil || p.Plan.Validation == FirstFold {
		return best, nil, err
	}
	if err := s.tryLambdas(s.descent().Around(best), s.filled); err != nil {
		return 0, nil, err
	}
	means := make([][]float64, len(s.values))
	for i, t := range s.tallies {
		if t.failed == "" && len(t.means) == len(s.filled) {
			means[i] = t.means
		}
	}
	return best, func(value int) []float64 { return means[value] }, nil
}

// table returns a row for each value that was tried, with the errors of its folds and the fits without fold 0.
func (s *search) table() (rows []CVResult, folds [][]float64, trials []*Solution) {
	for i, t := range s.tallies {
		if t.failed == "" && len(t.done) == 0 {
			continue
		}
		row := s.row(i)
		if row.Failed != "" {
			t.without = nil
		}
		rows, folds, trials = append(rows, row), append(folds, scaled(t.means, s.squareUnit())), append(trials, t.without)
	}
	return rows, folds, trials
}

// row returns the results for a value, with errors in units of the targets.
func (s *search) row(value int) CVResult {
	lambda, t := s.values[value], s.tallies[value]
	row := CVResult{Lambda: lambda, Failed: t.failed}
	if t.failed != "" || len(t.means) == 0 {
		return row
	}
	unit := s.squareUnit()
	row.MSE = unit * t.heldOut / t.heldOutRows
	row.Train = unit * t.train / t.trainRows
	row.StdErr = unit * solver.StandardError(t.means)
	row.Folds = len(t.means)
	row.FoldMSE = unit * t.first
	row.Rounding = unit * t.rounding / t.heldOutRows
	if v := s.varianceOf(t); v > 0 {
		row.R2 = 1 - row.MSE/(unit*v)
	}
	if !exact.AllFinite([]float64{row.MSE, row.Train, row.StdErr, row.Rounding, row.R2}) {
		return CVResult{Lambda: lambda, Failed: "errors beyond float64"}
	}
	return row
}

// varianceOf returns the variance by which a tally's error is divided for R², in the unit of squared errors: of
// the target over the rows that were predicted, or over all rows if there are none. It is 1 for several targets
// and 0 for classes.
func (s *search) varianceOf(t tally) float64 {
	switch len(s.Units.Grid) {
	case 0:
		return 0
	case 1:
		if v := t.targets.squares() / t.heldOutRows; v > 0 {
			return v
		}
		return centredSquares(s.total, nil, 0) / s.total.head.Weight()
	}
	return 1
}

func scaled(v []float64, by float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = x * by
	}
	return out
}

// pick returns the sum of some features, given in ascending order.
func (s *Sum) pick(features []int) *Sum {
	shape := s.shape
	shape.Dim = len(features)
	to := NewSum(shape)
	copy(to.head, s.head)
	w := shape.width()
	for a, j := range features {
		copy(to.cross[a*w:][:w], s.cross[j*w:])
	}
	blas.EachTile(shape.Dim, 1, func(_, t, i, j int) {
		rows, cols := blas.TileRows(shape.Dim, i), blas.TileRows(shape.Dim, j)
		for a := range rows {
			r := features[i*blas.TileDim+a]
			for b := range cols {
				c := features[j*blas.TileDim+b]
				if c > r {
					break
				}
				to.tiles[t][a*cols+b] = s.at(r, c)
			}
		}
	})
	return to
}

// at returns the sum of the products of features r and c, c ≤ r.
func (s *Sum) at(r, c int) float64 {
	i, j := r/blas.TileDim, c/blas.TileDim
	cols := blas.TileRows(s.shape.Dim, j)
	return s.tiles[i*(i+1)/2+j][(r-i*blas.TileDim)*cols+c-j*blas.TileDim]
}

// pick returns the ranges of some features.
func (r Ranges) pick(features []int) (to Ranges) {
	if r.Half == nil {
		return r
	}
	for _, j := range features {
		to.Centre, to.Half = append(to.Centre, r.Centre[j]), append(to.Half, r.Half[j])
	}
	return to
}

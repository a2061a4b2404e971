package ridge

import (
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// With many features λ is found by LambdaDescent of package solver. It starts from the best value on a
// quarter of the features, where a solve costs a 64th; that value is found in the same way, on a quarter of
// those.

// search tries values until the best λ is found, and returns its index in p.values.
func (p *solve) search(y *system, total *Sum) (best int, err error) {
	defer func() { p.sharedFactors, p.few, p.heads, p.single, p.factor = nil, nil, nil, nil, nil }()
	p.values = append(slices.Clone(p.Smaller), p.Lambda...)
	slices.Reverse(p.values[:len(p.Smaller)])
	p.tallies = make([]tally, len(p.values))
	p.by = solver.For(solverShape(total.shape), p.Weights.Rows(total.Rows(), y.masses(total.head)), p.Judge == JudgeFirst)
	if len(p.filled) < 2 {
		return 0, fmt.Errorf("ridge: all %d rows are in fold %d of %d; cross-validation needs two folds with rows: use "+
			"more rows, or no folds", total.Rows(), p.filled[0], p.Folds)
	}
	judges := p.filled
	if p.Judge == JudgeFirst {
		if judges = judges[:1]; judges[0] != 0 {
			return 0, fmt.Errorf("ridge: none of %d rows is in fold 0, which is held out; use more rows, or fewer folds",
				total.Rows())
		}
	}
	if p.heads != nil {
		p.few = p.newFewRows(y, total)
	}
	if p.few == nil {
		if p.heads = nil; p.Rows != nil && !p.rereads(total.shape) {
			whole, err := p.sumOf(func(int) bool { return true })
			if err != nil {
				return 0, err
			}
			*total, p.buffer = *whole, nil
		}
	}
	if !p.descends(total.shape) || p.few != nil && total.Rows() <= solver.FewTries {
		p.partSums = nil
		return p.choice(y, total, judges).All()
	}
	var start int
	var before func(value int) []float64
	if p.Start > 0 {
		start = nearest(p.values, p.Start)
	} else {
		start, before = p.startFrom(total.shape)
	}
	p.partSums = nil
	c := p.choice(y, total, judges)
	c.Before = before
	best, p.coarse, err = c.From(start)
	return best, err
}

// nearest returns the index of the value that is closest to v on a logarithmic scale.
func nearest(values []float64, v float64) (at int) {
	for i, l := range values {
		if math.Abs(math.Log(l/v)) < math.Abs(math.Log(values[at]/v)) {
			at = i
		}
	}
	return at
}

// descends reports whether λ is found by a LambdaDescent. Unless Start is set, it starts from a part of the
// features.
func (p *solve) descends(shape Shape) bool {
	return p.minPart > 0 && shape.Dim >= p.minPart && p.Judge != JudgeNone
}

// choice returns a search among the values. Its trials overwrite the system.
func (p *solve) choice(y *system, total *Sum, judges []int) *solver.LambdaDescent {
	return &solver.LambdaDescent{
		Values: p.values, Smaller: len(p.values) - len(p.Lambda), Judges: judges, Rows: p.screen,
		Together: p.by == solver.SharedFactor,
		Ends:     func(value int) bool { return p.Finer > 0 && TooCoarse(p.tried(), p.values[value], p.Finer) },
		Try:      func(values, folds []int) error { return p.try(y, total, values, folds) },
		Errors: func(value int) ([]float64, float64, string) {
			row := p.row(value)
			return scaled(p.tallies[value].means, p.squareUnit()), row.MSE, row.Failed
		},
	}
}

// tried returns a row for each value that was tried.
func (p *solve) tried() (rows []Row) {
	for i, t := range p.tallies {
		if t.failed != "" || len(t.done) > 0 {
			rows = append(rows, p.row(i))
		}
	}
	return rows
}

// table returns a row for each value that was tried, with the errors of its folds and the fits
// without fold 0.
func (p *solve) table() (rows []Row, folds [][]float64, trials []*Solution) {
	for i, t := range p.tallies {
		if t.failed == "" && len(t.done) == 0 {
			continue
		}
		row := p.row(i)
		if row.Failed != "" {
			t.without = nil
		}
		rows, folds, trials = append(rows, row), append(folds, scaled(t.means, p.squareUnit())), append(trials, t.without)
	}
	return rows, folds, trials
}

// startFrom returns the index of the value from which to search: the best on a part of the features. before
// has the errors there, for LambdaDescent.Before: at least of that value and its neighbours on all folds.
func (p *solve) startFrom(shape Shape) (start int, before func(value int) []float64) {
	part := solver.PartOf(shape.Dim)
	if p.Rows != nil {
		p.partSums = p.partOfRows(part)
	}
	o := p.Options
	o.Rows, o.Add, o.Shape = nil, nil, p.partSums[0].shape
	o.Trials, o.Finer = false, 0
	o.Ranges = o.Ranges.pick(part)
	// The kernel is a sum over features, so with fewer of them it is smaller in proportion.
	share := float64(len(part)) / float64(shape.Dim)
	o.Lambda, o.Smaller = scaled(o.Lambda, share), scaled(o.Smaller, share)
	q := &solve{Options: o, tries: tries{minPart: p.minPart}, variance: p.variance, sums: p.partSums}
	total, err := q.loadTotal()
	if err == nil {
		y := newSystem(total.shape, o.Weights, o.Threads)
		y.measure(o.Ranges)
		y.share(total)
		if start, err = q.search(y, total); err == nil && p.Judge == JudgeFirst {
			return start, nil
		}
		if err == nil {
			c := q.choice(y, total, q.filled)
			err = c.Try(c.Around(start), q.filled)
		}
		if err == nil {
			errors := make([][]float64, len(q.values))
			for i, t := range q.tallies {
				if t.failed == "" && len(t.means) == len(q.filled) {
					errors[i] = t.means
				}
			}
			return start, func(value int) []float64 { return errors[value] }
		}
	}
	// All values failed, perhaps by rounding errors.
	return len(p.values) - 1, nil
}

func scaled(v []float64, by float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = x * by
	}
	return out
}

package ridge

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// Held-out errors fall and rise once as λ grows, but for the noise of a few rows. So with
// many features λ is found by descent on the list of values, from the one that is best on
// a quarter of the features, where a solve costs a 64th; that is again found so. All
// features then try it and its neighbours, the smaller first, on the first fold alone, and move on
// while a neighbour is better. The other folds try only what is close to the best.

// margin is how much larger the error on the first folds may be, relative to the least,
// for the other folds to try a λ. Errors of neighbouring λ on the same rows differ with a
// standard deviation of 0.3/√rows of themselves, and several times that if few rows have
// most of the error.
func margin(rows int64) float64 { return 5 / math.Sqrt(float64(rows)) }

// search fills tallies until the best λ is found, and returns its position.
func (p *path) search(y *system, total *Sum) (best int, err error) {
	defer func() { p.kept, p.few, p.stands = nil, nil, nil }()
	p.values = append(slices.Clone(p.Smaller), p.Lambda...)
	slices.Reverse(p.values[:len(p.Smaller)])
	p.tallies = make([]tally, len(p.values))
	p.by = solver.For(of(total.shape), p.Weights.Rows(total.Rows(), y.masses(total.head)), p.First)
	if len(p.filled) < 2 {
		return 0, fmt.Errorf("ridge: all %d rows are in fold %d of %d; cross-validation needs two folds with rows: use more rows, or no folds", total.Rows(), p.filled[0], p.Folds)
	}
	judges := p.filled
	if p.First {
		if judges = judges[:1]; judges[0] != 0 {
			return 0, fmt.Errorf("ridge: none of %d rows is in fold 0, which is held out; use more rows, or fewer folds", total.Rows())
		}
	}
	if p.stands != nil {
		p.few = p.newFewRows(p.stands, y, total)
	}
	if p.few == nil {
		p.stands = nil
	}
	if !p.descends(total.shape) || p.few != nil && total.Rows() <= solver.FewTries {
		p.small = nil
		return p.tryAll(y, total, judges)
	}
	start := p.startFrom(total.shape)
	p.small = nil
	return p.descendFrom(start, y, total, judges)
}

// descends tells whether a part of the features finds λ first.
func (p *path) descends(shape Shape) bool { return p.least > 0 && shape.Dim >= p.least && !p.Given }

// tryAll tries all values of Lambda on all folds, and then those of Smaller as long as each
// does better.
func (p *path) tryAll(y *system, total *Sum, judges []int) (best int, err error) {
	values := make([]int, len(p.Lambda))
	for i := range values {
		values[i] = len(p.Smaller) + i
	}
	least := slices.MinFunc(values, func(a, b int) int { return cmp.Compare(p.values[a], p.values[b]) })
	for next := len(p.Smaller) - 1; ; next-- {
		if err := p.try(y, total, values, judges); err != nil {
			return 0, err
		}
		if best, err = p.best(len(judges)); err != nil || next < 0 || p.values[best] > p.values[least] {
			return best, err
		}
		values, least = []int{next}, next
	}
}

// descendFrom finds the best value from the one at that position.
func (p *path) descendFrom(at int, y *system, total *Sum, judges []int) (best int, err error) {
	order := p.ascending()
	for {
		// The first fold leads to a least value between its neighbours.
		for {
			i := slices.Index(order, at)
			next, err := at, error(nil)
			// The larger neighbour is not needed where the smaller is better, but descents that share a
			// pass over the matrix cost less together.
			ends := []int{i + 1, i + 2}
			if p.by == solver.Shared {
				ends = ends[1:]
			}
			for _, upTo := range ends {
				if err := p.try(y, total, order[max(0, i-1):min(len(order), upTo)], judges[:1]); err != nil {
					return 0, err
				}
				if next, err = p.best(1); err == nil && next != at {
					break
				}
			}
			if err != nil && i+2 < len(order) {
				next, err = order[i+2], nil // all of them failed, as too small ones do
			}
			if err != nil {
				return 0, err
			}
			if next == at {
				break
			}
			at = next
		}
		if p.coarse = p.Finer > 0 && p.values[at] <= p.Finer; p.coarse {
			return at, nil
		}
		// All folds choose among those that are as good but for noise, which shrinks with
		// each fold.
		for n := range judges {
			if err := p.try(y, total, p.close(n), judges[:n+1]); err != nil {
				return 0, err
			}
		}
		if best, err = p.best(len(judges)); err != nil {
			return 0, err
		}
		i := slices.Index(order, best)
		missing := slices.DeleteFunc(slices.Clone(order[max(0, i-1):min(len(order), i+2)]), func(v int) bool { return !p.tallies[v].pending(judges[0]) })
		if len(missing) == 0 {
			return best, nil
		}
		if err := p.try(y, total, missing, judges); err != nil {
			return 0, err
		}
		if next, err := p.best(len(judges)); err != nil || next == best {
			return best, err
		}
	}
}

// ascending returns the positions of the values in ascending order.
func (p *path) ascending() []int {
	order := make([]int, len(p.values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.values[a], p.values[b]) })
	return order
}

// close returns the positions of the values that may be the best, after so many folds.
func (p *path) close(folds int) (values []int) {
	least := math.Inf(1)
	tried := func(t tally) bool { return t.failed == "" && len(t.done) > 0 && len(t.done) >= folds }
	for _, t := range p.tallies {
		if tried(t) {
			least = min(least, t.heldOut/t.heldOutRows)
		}
	}
	limit := least * (1 + margin(p.screen*int64(max(folds, 1))))
	for i, t := range p.tallies {
		if tried(t) && t.heldOut/t.heldOutRows <= limit {
			values = append(values, i)
		}
	}
	return values
}

// best returns the position of the value with the least error of those that so many
// folds have tried, the larger of two equal ones; of one fold, the first that was tried.
func (p *path) best(folds int) (int, error) {
	best, reason := -1, -1
	for i, t := range p.tallies {
		if t.failed == "" && p.row(i).Failed == "" {
			if len(t.means) < folds {
				continue
			}
			if e := p.errorOf(i, folds); best < 0 || e < p.errorOf(best, folds) || e == p.errorOf(best, folds) && p.values[i] > p.values[best] {
				best = i
			}
		} else if reason < 0 {
			reason = i
		}
	}
	if best < 0 {
		return 0, fmt.Errorf("ridge: no lambda can be used: %s at lambda %g; raise lambda", p.row(reason).Failed, p.values[reason])
	}
	return best, nil
}

func (p *path) errorOf(value, folds int) float64 {
	if folds == 1 {
		return p.tallies[value].means[0]
	}
	return p.row(value).MSE
}

// table returns a row for each value that was tried, with the errors of its folds and the fits
// without fold 0.
func (p *path) table() (rows []Row, folds [][]float64, trials []*Solution) {
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

// startFrom returns the position of the value from which to search: the best on a part of
// the features.
func (p *path) startFrom(shape Shape) int {
	part := solver.PartOf(shape.Dim)
	if p.Rows != nil {
		p.small = p.partOfRows(part)
	}
	o := p.Options
	o.Rows, o.Add, o.Load = nil, nil, func(fold int) (*Sum, error) { return p.small[fold], nil }
	o.Trials, o.Progress, o.Finer = false, nil, 0
	o.Ranges = o.Ranges.pick(part)
	// With fewer features the kernel is as much smaller, as it is not a mean but a sum.
	share := float64(len(part)) / float64(shape.Dim)
	o.Lambda, o.Smaller = scaled(o.Lambda, share), scaled(o.Smaller, share)
	q := &path{Options: o, least: p.least, variance: p.variance}
	total, err := q.loadTotal()
	if err == nil {
		y := newSystem(total.shape, o.Weights, o.Threads)
		y.measure(o.Ranges)
		y.share(total)
		var best int
		if best, err = q.search(y, total); err == nil {
			return best
		}
	}
	// Rounding errors may have spoilt all of them.
	return len(p.values) - 1
}

func scaled(v []float64, by float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = x * by
	}
	return out
}

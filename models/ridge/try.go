package ridge

import (
	"cmp"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// tally accumulates the results of the folds for one λ.
type tally struct {
	heldOut, heldOutRows float64 // Σ squares and rows of the folds, or their weights
	train, trainRows     float64 // the same over the training rows
	rounding             float64 // the part of heldOut that comes from rounding of features
	targets              moments // of the first target of the rows of the folds
	means                []float64
	first                float64   // mean square of fold 0
	without              *Solution // fit to all rows except fold 0, if requested
	failed               string
	done                 []int // folds
}

// pending reports whether the λ has not yet been tried on a fold and has not failed on another.
func (t *tally) pending(fold int) bool { return t.failed == "" && !slices.Contains(t.done, fold) }

// try fits each of the values of λ without each of the folds, and records the held-out errors. Both are
// given by their index. Pairs that were tried before are skipped. It overwrites the system y.
func (p *solve) try(y *system, total *Sum, values, folds []int) error {
	if p.few != nil {
		p.tryFew(y, total, values, folds)
		return nil
	}
	if p.rereads(total.shape) {
		return p.tryRereading(y, total, values, folds)
	}
	h := newHeldOut(total.shape, p.Threads)
	rest := slices.DeleteFunc(slices.Clone(values), func(i int) bool {
		return !slices.ContainsFunc(folds, p.tallies[i].pending)
	})
	if p.by == solver.SharedFactor {
		// Ascending, so that a factor may serve the values that follow.
		slices.SortStableFunc(rest, func(a, b int) int { return cmp.Compare(p.values[a], p.values[b]) })
	}
	for len(rest) > 0 {
		trials := p.trials(y, total, rest, len(folds) == 1 && solver.Far(solverShape(total.shape)))
		rest = slices.DeleteFunc(rest, func(i int) bool {
			return slices.ContainsFunc(trials, func(t trial) bool { return t.index == i })
		})
		for _, f := range folds {
			if !slices.ContainsFunc(trials, func(t trial) bool { return p.tallies[t.index].pending(f) }) {
				continue
			}
			fold, err := p.load(f)
			if err != nil {
				return err
			}
			p.validate(y, h, total, fold, f, trials)
		}
	}
	return nil
}

// trial is a λ to try, with the shared factor that preconditions its descents; nil if each fold has its own
// factor.
type trial struct {
	index int // in values
	by    *solver.Factor
}

// trials returns the values to try next. Without shared factors these are all remaining values; otherwise
// the values that existing factors serve, or those for which up to solver.MaxFactors new ones are made. If
// far is set, a factor also serves neighbouring values, so one of three in a row is enough.
func (p *solve) trials(y *system, total *Sum, rest []int, far bool) []trial {
	var trials []trial
	if p.by != solver.SharedFactor {
		for _, i := range rest {
			trials = append(trials, trial{index: i})
		}
		return trials
	}
	// The factors of the last values serve the values among them that other folds try.
	for _, i := range rest {
		at := slices.IndexFunc(p.sharedFactors, func(t trial) bool {
			mu := p.mu(y, p.values[i])
			return t.index == i && (t.by == nil || t.by.Serves(mu)) || far && t.by != nil && t.by.ServesFar(mu)
		})
		if at >= 0 {
			trials = append(trials, trial{i, p.sharedFactors[at].by})
		}
	}
	if len(trials) > 0 {
		return trials
	}
	if p.factors() == solver.MaxFactors {
		p.sharedFactors = nil // freed before others are made
	}
	y.centre(total, nil)
	tiles := blas.MakeTiles[float32](total.shape.Dim)
	if far {
		own := rest[(len(rest)-1)/2]
		by := y.Factor(p.mu(y, p.values[own]), tiles, nil)
		for _, i := range rest {
			if i == own || by != nil && by.ServesFar(p.mu(y, p.values[i])) {
				trials = append(trials, trial{i, by})
			}
		}
		p.sharedFactors = append(p.sharedFactors, trials...)
		return trials
	}
	var by *solver.Factor
	for _, i := range rest {
		mu := p.mu(y, p.values[i])
		if by == nil || !by.Serves(mu) {
			if p.factors() == solver.MaxFactors {
				break
			}
			by = y.Factor(mu, tiles, nil)
		}
		trials = append(trials, trial{i, by})
		p.sharedFactors = append(p.sharedFactors, trial{i, by})
	}
	return trials
}

// factors returns the number of shared factors in memory.
func (p *solve) factors() int {
	var all []*solver.Factor
	for _, t := range p.sharedFactors {
		if t.by != nil && !slices.Contains(all, t.by) {
			all = append(all, t.by)
		}
	}
	return len(all)
}

// solved is the solution of a trial on a fold by descent, with its error on that fold.
type solved struct {
	x    []float64 // k×D; nil if the descent did not converge
	held float64
}

// descend solves the trials on a fold by conjugate gradients. A trial that does not converge has no
// solution. The matrix of y is centred, and stays usable for other solutions.
func (p *solve) descend(y *system, h heldOut, total, fold *Sum, number int, trials []trial) []solved {
	out := make([]solved, len(trials))
	if p.by == solver.Exactly {
		return out
	}
	run := func(systems []*solver.System, at []int) {
		if len(systems) == 0 {
			return
		}
		y.rightSides(total, fold)
		held := h.squares(y, fold, y.Descend(y.v, total.shape.Outputs, systems))
		for i, s := range systems {
			if s.Solved {
				out[at[i]] = solved{s.X, held[i]}
			}
		}
	}
	var systems []*solver.System
	var at []int
	if p.by == solver.OwnFactor && p.single == nil {
		p.single = blas.MakeTiles[float32](total.shape.Dim)
	}
	for i, t := range trials {
		if !p.tallies[t.index].pending(number) {
			continue
		}
		mu, by := p.mu(y, p.values[t.index]), t.by
		if p.by == solver.OwnFactor {
			by = y.Factor(mu, p.single, p.factor)
		}
		if by == nil {
			continue
		}
		if p.by == solver.OwnFactor {
			p.factor = by
		}
		systems, at = append(systems, &solver.System{Mu: mu, By: by}), append(at, i)
		if p.by == solver.OwnFactor {
			run(systems, at)
			systems, at = systems[:0], at[:0]
		}
	}
	run(systems, at)
	for i, t := range trials {
		mu := p.mu(y, p.values[t.index])
		if out[i].x == nil && t.by != nil && !t.by.Serves(mu) &&
			p.tallies[t.index].pending(number) { // the factor of a neighbour was too different
			if by := y.Factor(mu, blas.MakeTiles[float32](total.shape.Dim), nil); by != nil {
				run([]*solver.System{{Mu: mu, By: by}}, []int{i})
			}
		}
	}
	return out
}

// validate records the errors of the trials on a fold that have not been tried there.
func (p *solve) validate(y *system, h heldOut, total, fold *Sum, number int, trials []trial) {
	if p.by == solver.Exactly {
		y.setSums(total, fold)
	} else {
		y.centre(total, fold)
	}
	for t, solved := range p.descend(y, h, total, fold, number, trials) {
		value := trials[t].index
		if !p.tallies[value].pending(number) {
			continue
		}
		mu, e := p.mu(y, p.values[value]), solved.held
		if solved.x != nil {
			blas.Transpose(y.v, solved.x, total.shape.Outputs, total.shape.Dim)
		} else {
			pivot, ok := y.solve(mu, total, fold)
			if !ok {
				p.tallies[value].failed = notDefinite(pivot, total.shape.Dim)
				continue
			}
			vt := make([]float64, len(y.v))
			blas.Transpose(vt, y.v, total.shape.Dim, total.shape.Outputs)
			e = h.squares(y, fold, vt)[0]
		}
		p.record(y, total, fold, number, value, e, y.trainError(mu, total, fold), y.squares(y.v))
	}
}

// record adds the results of a value on a fold: e is the sum of squared errors on its rows, train the sum
// on the other rows, and squares the squared norm of the weights. y holds the solution where it is needed
// later.
func (p *solve) record(y *system, total, fold *Sum, number, value int, e, train, squares float64) {
	tally, rows := &p.tallies[value], fold.head[0]
	if number == 0 {
		tally.first = e / rows
		if p.first == nil && p.Grid != nil {
			for c := range p.Grid {
				p.first = append(p.first, fold.moments(c))
			}
		}
		if p.Trials {
			tally.without = &Solution{Lambda: p.values[value], Rows: total.Rows() - fold.Rows()}
			if err := p.weights(tally.without, y); err != nil {
				tally.failed = "weights beyond float32"
				return
			}
		}
	}
	tally.heldOut, tally.heldOutRows = tally.heldOut+e, tally.heldOutRows+rows
	tally.train, tally.trainRows = tally.train+train, tally.trainRows+y.n
	tally.rounding += rows * squares / 12
	tally.targets = tally.targets.plus(fold.moments(0))
	tally.means = append(tally.means, e/rows)
	tally.done = append(tally.done, number)
}

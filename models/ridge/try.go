package ridge

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
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

// tryLambdas fits each of the values of λ without each of the folds, and records the held-out errors. Both are
// given by their index. Pairs that were tried before are skipped.
func (s *search) tryLambdas(values, folds []int) error {
	if s.dual != nil {
		s.tryDual(values, folds)
		return nil
	}
	if s.rereads() {
		return s.tryRereading(values, folds)
	}
	h := s.heldOutErrors()
	rest := slices.DeleteFunc(slices.Clone(values), func(i int) bool {
		return !slices.ContainsFunc(folds, s.tallies[i].pending)
	})
	if s.method == solver.SharedFactor {
		// Ascending, so that a factor may serve the values that follow.
		slices.SortStableFunc(rest, func(a, b int) int { return cmp.Compare(s.values[a], s.values[b]) })
	}
	for len(rest) > 0 {
		trials := s.trials(rest, len(folds) == 1 && solver.SharesFactors(solverShape(s.From.Shape)))
		rest = slices.DeleteFunc(rest, func(i int) bool {
			return slices.ContainsFunc(trials, func(t trial) bool { return t.index == i })
		})
		for _, f := range folds {
			pending := slices.DeleteFunc(slices.Clone(trials), func(t trial) bool { return !s.tallies[t.index].pending(f) })
			if len(pending) == 0 {
				continue
			}
			fold, err := s.load(f)
			if err != nil {
				return err
			}
			s.scoreFold(h, fold, f, pending)
		}
	}
	return nil
}

// trial is a λ to try, with the shared factor that preconditions its descents; nil if each fold has its own factor.
type trial struct {
	index  int // in values
	factor *solver.Factor
}

// muOf returns μ of a value for the rows of the system.
func (s *search) muOf(value int) float64 { return s.mu(s.eq, s.values[value]) }

// trials returns the values to try next. Without shared factors these are all remaining values; otherwise
// the values that existing factors serve, or those for which up to solver.MaxFactors new ones are made. If
// far is set, a factor also serves neighbouring values, so one of three in a row is enough.
func (s *search) trials(rest []int, far bool) []trial {
	if s.method != solver.SharedFactor {
		trials := make([]trial, len(rest))
		for i, value := range rest {
			trials[i].index = value
		}
		return trials
	}
	if trials := s.servedTrials(rest, far); len(trials) > 0 {
		return trials
	}
	return s.trialsWithNewFactors(rest, far)
}

// servedTrials returns the values that existing factors serve: those of the last values also serve the values among
// them that other folds try.
func (s *search) servedTrials(rest []int, far bool) (trials []trial) {
	for _, i := range rest {
		mu := s.muOf(i)
		at := slices.IndexFunc(s.sharedFactors, func(t trial) bool {
			return t.index == i && (t.factor == nil || t.factor.Serves(mu)) || far && t.factor != nil && t.factor.ServesFar(mu)
		})
		if at >= 0 {
			trials = append(trials, trial{i, s.sharedFactors[at].factor})
		}
	}
	return trials
}

// trialsWithNewFactors returns values with factors that it makes, and keeps them in sharedFactors.
func (s *search) trialsWithNewFactors(rest []int, far bool) (trials []trial) {
	if s.factors() == solver.MaxFactors {
		s.sharedFactors = nil // freed before others are made
	}
	s.eq.centre(s.total, nil)
	tiles := blas.MakeTiles[float32](s.From.Shape.Dim)
	if far {
		middle := rest[(len(rest)-1)/2]
		factor := s.eq.Factor(s.muOf(middle), tiles, nil)
		for _, i := range rest {
			if i == middle || factor != nil && factor.ServesFar(s.muOf(i)) {
				trials = append(trials, trial{i, factor})
			}
		}
		s.sharedFactors = append(s.sharedFactors, trials...)
		return trials
	}
	var factor *solver.Factor
	for _, i := range rest {
		mu := s.muOf(i)
		if factor == nil || !factor.Serves(mu) {
			if s.factors() == solver.MaxFactors {
				break
			}
			factor = s.eq.Factor(mu, tiles, nil)
		}
		trials = append(trials, trial{i, factor})
		s.sharedFactors = append(s.sharedFactors, trial{i, factor})
	}
	return trials
}

// factors returns the number of shared factors in memory.
func (s *search) factors() int {
	all := map[*solver.Factor]bool{}
	for _, t := range s.sharedFactors {
		all[t.factor] = true
	}
	delete(all, nil)
	return len(all)
}

// solved is the solution of a trial on a fold by descent, with its error on that fold.
type solved struct {
	x    []float64 // k×D; nil if the descent did not converge
	held float64
}

// descend solves the trials on a fold by conjugate gradients. A trial that does not converge has no
// solution. The matrix of eq is centred, and stays usable for other solutions.
func (s *search) descend(h *solver.HeldOutErrors, fold *Sum, trials []trial) []solved {
	eq, out := s.eq, make([]solved, len(trials))
	if s.method == solver.OwnFactor {
		if s.single == nil {
			s.single = blas.MakeTiles[float32](s.From.Shape.Dim)
		}
		for i, t := range trials {
			mu := s.muOf(t.index)
			if factor := eq.Factor(mu, s.single, s.factor); factor != nil {
				s.factor = factor
				out[i] = s.descendFrom(h, fold, &solver.System{Mu: mu, Factor: factor})[0]
			}
		}
		return out
	}
	var systems []*solver.System
	var at []int
	for i, t := range trials {
		if t.factor != nil {
			systems, at = append(systems, &solver.System{Mu: s.muOf(t.index), Factor: t.factor}), append(at, i)
		}
	}
	for j, solution := range s.descendFrom(h, fold, systems...) {
		out[at[j]] = solution
	}
	for i, t := range trials {
		mu := s.muOf(t.index)
		if out[i].x != nil || t.factor == nil || t.factor.Serves(mu) {
			continue
		}
		// The factor of a neighbour was too different.
		if factor := eq.Factor(mu, blas.MakeTiles[float32](s.From.Shape.Dim), nil); factor != nil {
			out[i] = s.descendFrom(h, fold, &solver.System{Mu: mu, Factor: factor})[0]
		}
	}
	return out
}

// descendFrom solves systems at the same time. It returns a solved for each, zero if its descent did not converge.
func (s *search) descendFrom(h *solver.HeldOutErrors, fold *Sum, systems ...*solver.System) []solved {
	if len(systems) == 0 {
		return nil
	}
	eq, out := s.eq, make([]solved, len(systems))
	eq.rightSides(s.total, fold)
	held := h.Squares(eq.fitted(), fold.heldOut(), eq.Descend(eq.v, s.From.Shape.Outputs, systems))
	for i, system := range systems {
		if system.Solved {
			out[i] = solved{system.X, held[i]}
		}
	}
	return out
}

// scoreFold records the errors of trials on a fold.
func (s *search) scoreFold(h *solver.HeldOutErrors, fold *Sum, number int, trials []trial) {
	eq, total, solutions := s.eq, s.total, make([]solved, len(trials))
	if s.method == solver.Exactly {
		eq.setSums(total, fold)
	} else {
		eq.centre(total, fold)
		solutions = s.descend(h, fold, trials)
	}
	for i, t := range trials {
		mu, e := s.muOf(t.index), solutions[i].held
		if x := solutions[i].x; x != nil {
			blas.Transpose(eq.v, x, s.From.Shape.Outputs, s.From.Shape.Dim)
		} else {
			pivot, ok := eq.solve(eq.Tiles(), mu, total, fold)
			if !ok {
				s.tallies[t.index].failed = notDefinite(pivot, s.From.Shape.Dim)
				continue
			}
			vt := make([]float64, len(eq.v))
			blas.Transpose(vt, eq.v, s.From.Shape.Dim, s.From.Shape.Outputs)
			e = h.Squares(eq.fitted(), fold.heldOut(), vt)[0]
		}
		s.record(fold, number, t.index, eq.fit(e, mu, total, fold))
	}
}

// record adds the results of a value on a fold. With Trials, eq must hold the weights of the fit without fold 0, which
// it stores.
func (s *search) record(fold *Sum, number, value int, fit solver.Fit) {
	tally, rows := &s.tallies[value], fold.head.Weight()
	if number == 0 {
		tally.first = fit.HeldOut / rows
		if s.first == nil && s.Units.Grid != nil {
			for c := range s.Units.Grid {
				s.first = append(s.first, fold.moments(c))
			}
		}
		if s.Return.Trials {
			tally.without = &Solution{Lambda: s.values[value], Rows: s.total.Rows() - fold.Rows()}
			if err := s.weights(tally.without, s.eq); err != nil {
				tally.failed = "weights beyond float32"
				return
			}
		}
	}
	tally.heldOut += fit.HeldOut
	tally.heldOutRows += rows
	tally.train += fit.Train
	tally.trainRows += s.eq.n
	tally.rounding += rows * fit.Squares / 12
	tally.targets = tally.targets.plus(fold.moments(0))
	tally.means = append(tally.means, fit.HeldOut/rows)
	tally.done = append(tally.done, number)
}

// rereads reports whether only one sum is in memory while λ is chosen.
//
// Usually the sum of all rows, the matrix of a system and the sum of a fold are in memory: 13 GB with 32,768
// features. Above solver.RereadAbove features, the sum of the rows without a fold is added up from storage, and
// the system for each λ is solved in its place. Then the sum of the fold is read into the same memory, for the
// held-out errors. Only an outline of the sum of all rows stays. Reading takes far less time than a factorisation.
func (p *problem) rereads() bool {
	return p.From.Shape.Dim > cmp.Or(p.rereadAbove, solver.RereadAbove) && p.From.Sums == nil && p.Plan.HoldsOut()
}

// outline returns a sum of no rows that has the head, the cross products and the tiles on the diagonal.
func outline(shape Shape) *Sum {
	s := NewPartSum(shape, 0, 1)
	s.tiles = shape.tiles(func(part int) bool {
		row, column := shape.TilePosition(part)
		return row == column
	})
	s.cross = make([]float64, shape.Dim*shape.width())
	return s
}

// tryRereading is tryLambdas with only one sum in memory.
func (s *search) tryRereading(values, folds []int) error {
	h, vt := s.heldOutErrors(), make([]float64, len(s.eq.v))
	for _, value := range values {
		for _, f := range folds {
			if !s.tallies[value].pending(f) {
				continue
			}
			rest, err := s.sumOf(func(fold int) bool { return fold != f })
			if err != nil {
				return err
			}
			factor, pivot := s.solveIn(s.eq, rest, s.values[value])
			if factor == nil {
				s.tallies[value].failed = notDefinite(pivot, s.From.Shape.Dim)
				continue
			}
			blas.Transpose(vt, s.eq.v, s.From.Shape.Dim, s.From.Shape.Outputs)
			fold, err := s.load(f)
			if err != nil {
				return err
			}
			s.record(fold, f, value, s.eq.fit(h.Squares(s.eq.fitted(), fold.heldOut(), vt)[0], factor.mu, s.total, fold))
		}
	}
	return nil
}

// newDual returns the dual problem of the stored rows, or nil if a value of λ is too small for the
// matrix of all features to be positive definite to working precision.
func (s *search) newDual() *solver.Problem {
	eq, total := s.eq, s.total
	d, n := s.From.Shape.Dim, total.head.Weight()
	eq.mass = eq.masses(total.head)
	least := math.Inf(1)
	for _, v := range s.values {
		least = min(least, s.mu(eq, v))
	}
	for j := range d {
		if !(least*eq.Ridge[j] > float64(d)*0x1p-50*total.at(j, j)) {
			return nil
		}
	}
	mean, target := total.Columns(), make([]float64, s.From.Shape.Outputs)
	for j := range mean {
		mean[j] /= n
	}
	for c, v := range total.head.outputs(s.From.Shape.Outputs) {
		target[c] = v / n
	}
	return s.dualOfRows(mean, target, eq.Ridge)
}

// tryDual is tryLambdas by the dual problem of the stored rows.
func (s *search) tryDual(values, folds []int) {
	eq, total := s.eq, s.total
	type dualTrial struct {
		fold, value int
		mu          float64
		v           []float64 // weights; nil if nothing reads them
		fit         solver.Fit
		pivot       int
		ok          bool
	}
	var all []dualTrial
	for _, f := range folds {
		eq.setSums(total, s.heads[f])
		for _, value := range values {
			if s.tallies[value].pending(f) {
				all = append(all, dualTrial{fold: f, value: value, mu: s.muOf(value)})
			}
		}
	}
	atOnce := solver.AtOnce(int64(s.dual.Len()), s.Threads)
	weights := make([][]float64, atOnce)
	for chunk := range slices.Chunk(all, atOnce) {
		parallel.Each(len(chunk), atOnce, func(_, i int) {
			t := &chunk[i]
			if !s.tallies[t.value].pending(t.fold) {
				return
			}
			if !s.dual.Plain() || t.fold == 0 && s.Return.Trials {
				if weights[i] == nil {
					weights[i] = make([]float64, len(eq.v))
				}
				t.v = weights[i]
			}
			t.fit, t.pivot, t.ok = s.dual.Solve(t.v, eq.factors, t.mu, t.fold, max(1, s.Threads/len(chunk)))
		})
		for _, t := range chunk {
			if !s.tallies[t.value].pending(t.fold) {
				continue // or it failed on an earlier fold
			}
			if !t.ok {
				s.tallies[t.value].failed = notDefinite(t.pivot, s.dual.Len())
				continue
			}
			fold := s.heads[t.fold]
			eq.setSums(total, fold)
			copy(eq.v, t.v)
			s.record(fold, t.fold, t.value, t.fit)
		}
	}
}

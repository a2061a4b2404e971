package ridge

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// newFewRows returns the dual problem of the stored rows, or nil if a value of λ is too small for the
// matrix of all features to be positive definite to working precision.
func (s *search) newFewRows() *solver.Problem {
	eq, total := s.eq, s.total
	d, n := s.Shape.Dim, total.head.Weight()
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
	mean, target := total.Columns(), make([]float64, s.Shape.Outputs)
	for j := range mean {
		mean[j] /= n
	}
	for c, v := range total.head.outputs(s.Shape.Outputs) {
		target[c] = v / n
	}
	return s.dualOfRows(mean, target, eq.Ridge)
}

// tryFew is try by the dual problem of few rows.
func (s *search) tryFew(values, folds []int) {
	eq, total := s.eq, s.total
	type few struct {
		fold, value int
		mu          float64
		v           []float64 // weights; nil if nothing reads them
		fit         solver.Fit
		pivot       int
		ok          bool
	}
	var all []few
	for _, f := range folds {
		eq.setSums(total, s.heads[f])
		for _, value := range values {
			if s.tallies[value].pending(f) {
				all = append(all, few{fold: f, value: value, mu: s.muOf(value)})
			}
		}
	}
	atOnce := solver.AtOnce(int64(s.few.Len()), s.Threads)
	weights := make([][]float64, atOnce)
	for chunk := range slices.Chunk(all, atOnce) {
		parallel.Each(len(chunk), atOnce, func(_, i int) {
			t := &chunk[i]
			if !s.tallies[t.value].pending(t.fold) {
				return
			}
			if !s.few.Plain() || t.fold == 0 && s.Trials {
				if weights[i] == nil {
					weights[i] = make([]float64, len(eq.v))
				}
				t.v = weights[i]
			}
			t.fit, t.pivot, t.ok = s.few.Solve(t.v, eq.factors, t.mu, t.fold, max(1, s.Threads/len(chunk)))
		})
		for _, t := range chunk {
			if !s.tallies[t.value].pending(t.fold) {
				continue // or it failed on an earlier fold
			}
			if !t.ok {
				s.tallies[t.value].failed = notDefinite(t.pivot, s.few.Len())
				continue
			}
			fold := s.heads[t.fold]
			eq.setSums(total, fold)
			copy(eq.v, t.v)
			s.record(fold, t.fold, t.value, t.fit.HeldOut, t.fit.Train, t.fit.Squares)
		}
	}
}

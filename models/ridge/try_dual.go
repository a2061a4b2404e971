package ridge

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// newFewRows returns the dual problem of the stored rows, or nil if a value of λ is too small for the
// matrix of all features to be positive definite to working precision.
func (p *solve) newFewRows(y *system, total *Sum) *solver.Problem {
	d, n := total.shape.Dim, total.head[0]
	y.mass = y.masses(total.head)
	least := math.Inf(1)
	for _, v := range p.values {
		least = min(least, p.mu(y, v))
	}
	for j := range d {
		if !(least*y.Ridge[j] > float64(d)*0x1p-50*total.at(j, j)) {
			return nil
		}
	}
	mean, target := total.Columns(), make([]float64, total.shape.Outputs)
	for j := range mean {
		mean[j] /= n
	}
	for c := range target {
		target[c] = total.head[1+c] / n
	}
	return p.dualOfRows(mean, target, y.Ridge)
}

// tryFew is try by the dual problem of few rows.
func (p *solve) tryFew(y *system, total *Sum, values, folds []int) {
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
		y.setSums(total, p.heads[f])
		for _, value := range values {
			if p.tallies[value].pending(f) {
				all = append(all, few{fold: f, value: value, mu: p.mu(y, p.values[value])})
			}
		}
	}
	atOnce := solver.AtOnce(int64(p.few.Len()), p.Threads)
	weights := make([][]float64, atOnce)
	for some := range slices.Chunk(all, atOnce) {
		parallel.Each(len(some), atOnce, func(_, i int) {
			t := &some[i]
			if !p.tallies[t.value].pending(t.fold) {
				return
			}
			if !p.few.Plain() || t.fold == 0 && p.Trials {
				if weights[i] == nil {
					weights[i] = make([]float64, len(y.v))
				}
				t.v = weights[i]
			}
			t.fit, t.pivot, t.ok = p.few.Solve(t.v, y.each, t.mu, t.fold, max(1, p.Threads/len(some)))
		})
		for _, t := range some {
			if !p.tallies[t.value].pending(t.fold) {
				continue // or it failed on an earlier fold
			}
			if !t.ok {
				p.tallies[t.value].failed = notDefinite(t.pivot, p.few.Len())
				continue
			}
			fold := p.heads[t.fold]
			y.setSums(total, fold)
			copy(y.v, t.v)
			p.record(y, total, fold, t.fold, t.value, t.fit.HeldOut, t.fit.Train, t.fit.Squares)
		}
	}
}

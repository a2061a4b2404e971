package ridge

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/dual"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// standIn is what stands in for the rows of a fold.
type standIn struct {
	sum  *Sum       // head and cross products
	rows *dual.Rows // nil if rows are given
}

// standInFor returns rows that have the sums of a fold.
func standInFor(fold *Sum, threads int) *standIn {
	k, w := fold.shape.Outputs, fold.shape.width()
	own := &Sum{shape: fold.shape, head: slices.Clone(fold.head), cross: slices.Clone(fold.cross)}
	s := &dual.Sums{
		Rows: fold.Rows(), Weight: fold.head[0], Columns: fold.Columns(), Targets: own.head[1:][:k],
		At: fold.at, Cross: func(i, c int) float64 { return own.cross[i*w+c] },
	}
	for c := range k {
		s.Squares = append(s.Squares, centredSquares(fold, nil, c))
	}
	return &standIn{own, dual.RowsOf(s, threads)}
}

// newFewRows returns the dual problem of stand-ins for all rows, which it changes. λ must be large
// enough for the matrix of all features to be positive definite to working precision; otherwise it
// returns nil.
func (p *path) newFewRows(stands []*standIn, y *system, total *Sum) *dual.Problem {
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
	if p.Rows != nil {
		return p.dualOfRows(mean, target, y.Ridge)
	}
	var rows []*dual.Rows
	for _, s := range stands {
		rows = append(rows, s.rows)
	}
	return dual.New(rows, mean, target, y.Ridge, p.Threads)
}

// tryFew is try for few rows.
func (p *path) tryFew(y *system, total *Sum, values, folds []int) {
	type few struct {
		fold, value int
		mu          float64
		v           []float64 // weights; nil if nobody needs them
		fit         dual.Fit
		pivot       int
		ok          bool
	}
	var all []few
	for _, f := range folds {
		y.leave(total, p.stands[f].sum)
		for _, value := range values {
			if p.tallies[value].pending(f) {
				all = append(all, few{fold: f, value: value, mu: p.mu(y, p.values[value])})
			}
		}
	}
	atOnce := dual.AtOnce(int64(p.few.Len()), p.Threads)
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
				continue // or it has failed on a fold before
			}
			if !t.ok {
				p.fails(t.value, t.fold, notDefinite(t.pivot, p.few.Len()))
				continue
			}
			fold := p.stands[t.fold].sum
			y.leave(total, fold)
			copy(y.v, t.v)
			p.record(y, total, fold, t.fold, t.value, t.fit.HeldOut, t.fit.Train, t.fit.Squares)
		}
	}
}

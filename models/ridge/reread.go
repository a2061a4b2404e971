package ridge

import (
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// A choice of λ has the sum of all rows, the matrix of a system and the sum of a fold in memory,
// which with 32,768 features are 13 GB. So sums of more features than solver.RereadAbove are in
// memory one at a time: the sum of the rows without a fold is added up from storage, and each λ is
// solved for in its place. The sum of the fold follows in the same memory, for the errors on its
// rows. Between them only an outline of the sum of all rows stays. A factorisation takes far longer
// than the reading.

// rereads tells whether sums of that shape are in memory one at a time while λ is chosen.
func (p *solve) rereads(shape Shape) bool {
	return shape.Dim > solver.RereadAbove && p.adds() && p.Validates()
}

// outline returns a sum of no rows with the head, the cross products and the tiles of the diagonal.
func outline(shape Shape) *Sum {
	s, l := NewPartSum(shape, 0, 1), LayoutOf(shape)
	s.tiles = l.tiles(func(part int) bool {
		_, ok := l.Diagonal(part)
		return ok
	})
	s.cross = make([]float64, shape.Dim*shape.width())
	return s
}

// outlines tells whether the sum is an outline.
func (s *Sum) outlines() bool {
	return slices.ContainsFunc(s.tiles, func(t []float64) bool { return t == nil })
}

// tryRereading is try for sums that are in memory one at a time.
func (p *solve) tryRereading(y *system, total *Sum, values, folds []int) error {
	h := newHeldOut(total.shape, p.Threads)
	vt := make([]float64, len(y.v))
	for _, value := range values {
		for _, f := range folds {
			if !p.tallies[value].pending(f) {
				continue
			}
			rest, err := p.sumOf(func(fold int) bool { return fold != f })
			if err != nil {
				return err
			}
			y.leave(rest, nil)
			mu := p.mu(y, p.values[value])
			if pivot, ok := y.solveIn(mu, rest); !ok {
				p.fails(value, f, notDefinite(pivot, total.shape.Dim))
				continue
			}
			blas.Transpose(vt, y.v, total.shape.Dim, total.shape.Outputs)
			fold, err := p.load(f)
			if err != nil {
				return err
			}
			p.record(y, total, fold, f, value, h.squares(y, fold, vt)[0], y.trainError(mu, total, fold), y.squares(y.v))
		}
	}
	return nil
}

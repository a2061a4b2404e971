package ridge

import (
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// A choice of λ usually has the sum of all rows, the matrix of a system and the sum of a fold in memory: 13
// GB with 32,768 features. So above solver.RereadAbove features only one sum is in memory. The sum of the
// rows without a fold is added up from storage, and the system for each λ is solved in its place. Then the
// sum of the fold is read into the same memory, for the held-out errors. Only an outline of the sum of all
// rows stays. Reading takes far less time than a factorisation.

// rereads reports whether only one sum of that shape is in memory while λ is chosen.
func (p *solve) rereads(shape Shape) bool {
	return shape.Dim > solver.RereadAbove && p.adds() && p.Validates()
}

// outline returns a sum of no rows that has the head, the cross products and the tiles on the diagonal.
func outline(shape Shape) *Sum {
	s, l := NewPartSum(shape, 0, 1), LayoutOf(shape)
	s.tiles = l.tiles(func(part int) bool {
		_, ok := l.diagonal(part)
		return ok
	})
	s.cross = make([]float64, shape.Dim*shape.width())
	return s
}

// outlines reports whether the sum is an outline.
func (s *Sum) outlines() bool {
	return slices.ContainsFunc(s.tiles, func(t []float64) bool { return t == nil })
}

// tryRereading is try with only one sum in memory.
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
			y.setSums(rest, nil)
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

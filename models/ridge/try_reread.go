package ridge

import (
	"cmp"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// A choice of λ usually has the sum of all rows, the matrix of a system and the sum of a fold in memory: 13
// GB with 32,768 features. So above solver.RereadAbove features only one sum is in memory. The sum of the
// rows without a fold is added up from storage, and the system for each λ is solved in its place. Then the
// sum of the fold is read into the same memory, for the held-out errors. Only an outline of the sum of all
// rows stays. Reading takes far less time than a factorisation.

// rereads reports whether only one sum is in memory while λ is chosen.
func (p *problem) rereads() bool {
	return p.Shape.Dim > cmp.Or(p.rereadAbove, solver.RereadAbove) && p.Sums == nil && p.HoldsOut()
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
func (s *search) tryRereading(values, folds []int) error {
	h, vt := newHeldOut(s.Shape, s.Threads), make([]float64, len(s.eq.v))
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
				s.tallies[value].failed = notDefinite(pivot, s.Shape.Dim)
				continue
			}
			blas.Transpose(vt, s.eq.v, s.Shape.Dim, s.Shape.Outputs)
			fold, err := s.load(f)
			if err != nil {
				return err
			}
			s.record(fold, f, value, h.squares(s.eq, fold, vt)[0], s.eq.trainError(factor.mu, s.total, fold), s.eq.squares(s.eq.v))
		}
	}
	return nil
}

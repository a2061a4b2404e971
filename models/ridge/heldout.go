package ridge

import (
	"math/bits"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/ridge/discriminant"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// heldOut computes the errors of weights on rows that they were not fitted to.
type heldOut struct{ *solver.HeldOutErrors }

func newHeldOut(shape Shape, threads int) heldOut {
	return heldOut{solver.NewHeldOutErrors(shape.Dim, shape.Outputs, threads)}
}

// squares returns the squared errors on the rows of fold of several V that were fitted to the rows of y;
// see solver.HeldOutErrors.Squares.
func (h heldOut) squares(y *system, fold *Sum, vt []float64) []float64 {
	sums := fold.heldOut()
	for c := range fold.shape.Outputs {
		sums.Squares = append(sums.Squares, centredSquares(fold, nil, c))
	}
	return h.Squares(y.fitted(), sums, vt)
}

// heldOut returns the sums of the fold, without Squares.
func (s *Sum) heldOut() solver.HeldOutSums {
	return solver.HeldOutSums{N: s.head[0], Columns: s.Columns(), Targets: s.head[1:][:s.shape.Outputs], Tiles: s.tiles,
		Cross: s.cross, Width: s.shape.width()}
}

// fitted describes the rows that the system was fitted to.
func (y *system) fitted() solver.HeldOutFit {
	return solver.HeldOutFit{N: y.n, Columns: y.colSum, Targets: y.outSum, Each: y.each}
}

// discriminants returns the discriminants of the classes on the rows of fold, for the scores of the
// solution.
func (y *system) discriminants(fold *Sum, threads int) []discriminant.Discriminant {
	sums := discriminant.Fold{HeldOutSums: fold.heldOut(), Rows: float64(fold.Rows())}
	for c := range fold.shape.Outputs {
		sums.Weights = append(sums.Weights, y.weights.Class(c))
	}
	vt := make([]float64, len(y.v))
	blas.Transpose(vt, y.v, y.shape.Dim, y.shape.Outputs)
	return discriminant.Of(y.fitted(), sums, vt, threads)
}

// centredSquares returns Σ(q-q̄)² = (nΣq² - (Σq)²)/n of output c over the rows that are
// in total and not in out; out may be nil. The numerator is computed in 128 bits, so that
// targets far from zero lose no precision.
func centredSquares(total, out *Sum, c int) float64 {
	m := total.moments(c)
	if out != nil {
		less := out.moments(c)
		m = moments{m.n - less.n, m.q - less.q, m.qq - less.qq}
	}
	return m.squares()
}

// moments are n (the number of rows, or the sum of their weights), Σq and Σq² of an output.
type moments struct{ n, q, qq int64 }

func (m moments) plus(o moments) moments { return moments{m.n + o.n, m.q + o.q, m.qq + o.qq} }

// squares returns Σ(q-q̄)².
func (m moments) squares() float64 {
	n, q, qq := m.n, m.q, m.qq
	if q < 0 {
		q = -q
	}
	hi, lo := bits.Mul64(uint64(n), uint64(qq))
	hi1, lo1 := bits.Mul64(uint64(q), uint64(q))
	lo, borrow := bits.Sub64(lo, lo1, 0)
	hi, _ = bits.Sub64(hi, hi1, borrow)
	return (float64(float64(hi)*0x1p64) + float64(lo)) / float64(n)
}

// moments returns the moments of output c.
func (s *Sum) moments(c int) moments {
	n, q := int64(s.head[0]), int64(s.head[1+c])
	if !s.shape.Regression {
		return moments{n, q, q}
	}
	k := s.shape.Outputs
	return moments{n, q, int64(s.head[1+k+c])<<15 + int64(s.head[1+2*k+c])}
}

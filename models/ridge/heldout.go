package ridge

import (
	"math/bits"

	"github.com/bochner-ml/bochner/internal/blas"
)

// heldOut computes the error of weights on rows they were not fitted to, from
// the sum of those rows alone.
type heldOut struct {
	shape   Shape
	threads int

	colMean []float64   // φ̄ of the fold, length D
	vt      []float64   // row-major k×D, so that products run along memory
	scratch [][]float64 // of each worker, see form
	forms   []float64   // a term of the quadratic form for each tile
}

func newHeldOut(shape Shape, threads int) *heldOut {
	h := &heldOut{
		shape: shape, threads: threads,
		colMean: make([]float64, shape.Dim),
		vt:      make([]float64, shape.Dim*shape.Outputs),
		scratch: make([][]float64, max(1, threads)),
		forms:   make([]float64, blas.NumTiles(shape.Dim)),
	}
	side := min(shape.Dim, blas.TileDim)
	for i := range h.scratch {
		h.scratch[i] = make([]float64, side+(side+1)*shape.Outputs)
	}
	return h
}

// squares returns Σ‖q - Vᵀz - b‖² over the rows of fold, in grid units, for the
// V and b of the system y.
//
// With the fold's own means taken out of every term, so that nothing large
// cancels, it is
//
//	Σ‖q-q̄‖² - 2 tr VᵀR_c + tr VᵀG_cV + n ‖(q̄-q̄₀) - Vᵀ(z̄-z̄₀)‖²,
//
// R_c and G_c centred on the fold, q̄₀ and z̄₀ the means of the rows that V was
// fitted to: the last term is the square of the mean residual, as
// b = q̄₀ - Vᵀz̄₀.
func (h *heldOut) squares(y *system, fold *Sum) float64 {
	d, k, w := h.shape.Dim, h.shape.Outputs, h.shape.width()
	n := fold.head[0]
	fold.columnSums(h.colMean)
	for j := range h.colMean {
		h.colMean[j] /= n
	}

	var e float64
	shift := make([]float64, k) // the mean residual of each output
	for c := range k {
		e += centredSquares(fold, nil, c)
		shift[c] = fold.head[1+c]/n - y.outSum[c]/y.n
	}
	for j, m := range h.colMean {
		m0 := y.colSum[j] / y.n
		for c, v := range y.v[j*k : (j+1)*k] {
			h.vt[c*d+j] = v
			r := fold.cross[j*w+c] - float64(m*fold.head[1+c])
			e -= 2 * float64(v*r)
			shift[c] -= float64(v * (m - m0))
		}
	}
	for _, v := range shift {
		e += float64(n * float64(v*v))
	}

	forTiles(d, h.threads, func(worker, t, i, j int) {
		h.forms[t] = h.form(h.scratch[worker], fold.tiles[t], i, j, n)
	})
	// In the order of the tiles, whichever worker had them.
	for _, v := range h.forms {
		e += v
	}
	return max(e, 0) // a perfect fit can end a rounding error below zero
}

// form returns what tile (i, j) of G_c and its mirror add to tr VᵀG_cV. The
// scratch has room for a row of the tile, for a number for each of its rows and
// outputs, and for one more for each output.
func (h *heldOut) form(scratch, tile []float64, i, j int, n float64) float64 {
	d, k := h.shape.Dim, h.shape.Outputs
	top, left := i*blas.TileDim, j*blas.TileDim
	rows, cols := blas.TileRows(d, i), blas.TileRows(d, j)
	row, terms, dots := scratch[:cols], scratch[cols:][:k*rows], scratch[cols+k*rows:][:k]
	for a := range rows {
		sum := n * h.colMean[top+a]
		from, mean := tile[a*cols:][:cols], h.colMean[left:][:cols]
		for b, g := range from {
			row[b] = g - float64(sum*mean[b])
		}
		// Of a tile on the diagonal, only the lower half is a sum.
		upTo, own := cols, 0.0
		if i == j {
			upTo, own = a, row[a]
		}
		blas.Dots(dots, row[:upTo], h.vt[left:], d)
		for c, p := range dots {
			v := h.vt[c*d+top+a]
			terms[c*rows+a] = float64(v * (2*p + float64(own*v)))
		}
	}
	var e float64
	for _, t := range terms {
		e += t
	}
	return e
}

// centredSquares returns Σ(q-q̄)² = (nΣq² - (Σq)²)/n of output c over the rows
// that are in total and not in out; out may be nil. The numerator is computed
// in 128 bits, so targets far from zero lose nothing.
func centredSquares(total, out *Sum, c int) float64 {
	n, q, qq := total.moments(c)
	if out != nil {
		n1, q1, qq1 := out.moments(c)
		n, q, qq = n-n1, q-q1, qq-qq1
	}
	if q < 0 {
		q = -q
	}
	hi, lo := bits.Mul64(uint64(n), uint64(qq))
	hi1, lo1 := bits.Mul64(uint64(q), uint64(q))
	lo, borrow := bits.Sub64(lo, lo1, 0)
	hi, _ = bits.Sub64(hi, hi1, borrow)
	return (float64(float64(hi)*0x1p64) + float64(lo)) / float64(n)
}

// moments returns N, Σq and Σq² of output c.
func (s *Sum) moments(c int) (n, q, qq int64) {
	n, q = int64(s.head[0]), int64(s.head[1+c])
	if !s.shape.Regression {
		return n, q, q
	}
	k := s.shape.Outputs
	return n, q, int64(s.head[1+k+c])<<15 + int64(s.head[1+2*k+c])
}

package ridge

import (
	"math/bits"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// heldOut computes the errors of weights on rows that they were not fitted to, from the
// sum of those rows alone.
type heldOut struct {
	shape   Shape
	threads int

	colMean []float64   // φ̄ of the fold, length D
	scratch [][]float64 // of each worker, see form
	forms   []float64   // for each tile, a term of each quadratic form
}

func newHeldOut(shape Shape, threads int) *heldOut {
	return &heldOut{
		shape: shape, threads: threads,
		colMean: make([]float64, shape.Dim),
		scratch: make([][]float64, max(1, threads)),
	}
}

// squares returns Σ‖q - Vᵀz - b‖² over the rows of fold, in grid units and with the factors of
// the outputs, for each of several V, fitted to the rows of the system y, with its b. Each V is given as its
// transpose vt, k rows of D, so that products read memory in order.
//
// With the fold's own means subtracted from every term, so that nothing large cancels, it
// is
//
//	Σ‖q-q̄‖² - 2 tr VᵀR_c + tr VᵀG_cV + n ‖(q̄-q̄₀) - Vᵀ(z̄-z̄₀)‖²,
//
// R_c and G_c are centred on the fold, and q̄₀ and z̄₀ are the means of the rows that V
// was fitted to: the last term is the square of the mean residual, because b = q̄₀ -
// Vᵀz̄₀.
func (h *heldOut) squares(y *system, fold *Sum, vt []float64) []float64 {
	d, k, w := h.shape.Dim, h.shape.Outputs, h.shape.width()
	n := fold.head[0]
	fold.columnSums(h.colMean)
	for j := range h.colMean {
		h.colMean[j] /= n
	}

	var squares float64 // Σ‖q-q̄‖²
	for c := range k {
		squares += float64(y.each[c] * centredSquares(fold, nil, c))
	}
	out := make([]float64, len(vt)/(k*d))
	parallel.Each(len(out), h.threads, func(_, i int) {
		e := squares
		for c := range k {
			shift := fold.head[1+c]/n - y.outSum[c]/y.n // the mean residual
			for j, v := range vt[(i*k+c)*d:][:d] {
				m := h.colMean[j]
				e -= 2 * float64(y.each[c]*float64(v*(fold.cross[j*w+c]-float64(m*fold.head[1+c]))))
				shift -= float64(v * (m - y.colSum[j]/y.n))
			}
			e += float64(y.each[c] * float64(n*float64(shift*shift)))
		}
		out[i] = e
	})

	forms := blas.NumTiles(d) * len(out)
	h.forms = slices.Grow(h.forms[:0], forms)[:forms]
	blas.EachTile(d, h.threads, func(worker, t, i, j int) {
		side := min(d, blas.TileDim)
		h.scratch[worker] = slices.Grow(h.scratch[worker][:0], side+(side+1)*k*len(out))
		h.form(h.forms[t*len(out):][:len(out)], h.scratch[worker], fold.tiles[t], vt, y.each, i, j, n)
	})
	for i := range out {
		// In the order of the tiles, whichever worker computed them.
		for t := i; t < len(h.forms); t += len(out) {
			out[i] += h.forms[t]
		}
		out[i] = max(out[i], 0) // a perfect fit can end a rounding error below zero
	}
	return out
}

// form stores what tile (i, j) of G_c and its mirror add to tr VᵀG_cV of each V, with the
// factors of the outputs. The
// scratch has room for a row of the tile, for a number for each of its rows and of all
// outputs, and for one more for each of those.
func (h *heldOut) form(dst, scratch, tile, vt, each []float64, i, j int, n float64) {
	d, k := h.shape.Dim, h.shape.Outputs
	all := k * len(dst)
	top, left := i*blas.TileDim, j*blas.TileDim
	rows, cols := blas.TileRows(d, i), blas.TileRows(d, j)
	scratch = scratch[:cols+all*(rows+1)]
	row, terms, dots := scratch[:cols], scratch[cols:][:all*rows], scratch[cols+all*rows:]
	for a := range rows {
		sum := n * h.colMean[top+a]
		from, mean := tile[a*cols:][:cols], h.colMean[left:][:cols]
		for b, g := range from {
			row[b] = g - float64(sum*mean[b])
		}
		// Only the lower half of a diagonal tile holds sums.
		upTo, own := cols, 0.0
		if i == j {
			upTo, own = a, row[a]
		}
		blas.Dots(dots, row[:upTo], vt[left:], d)
		for c, p := range dots {
			v := vt[c*d+top+a]
			terms[c*rows+a] = float64(each[c%k] * float64(v*(2*p+float64(own*v))))
		}
	}
	for f := range dst {
		var e float64
		for _, t := range terms[f*k*rows:][:k*rows] {
			e += t
		}
		dst[f] = e
	}
}

// centredSquares returns Σ(q-q̄)² = (nΣq² - (Σq)²)/n of output c over the rows that are
// in total and not in out; out may be nil. The numerator is computed in 128 bits, so that
// targets far from zero lose no precision.
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

// moments returns N, or the sum of the weights, Σq and Σq² of output c.
func (s *Sum) moments(c int) (n, q, qq int64) {
	n, q = int64(s.head[0]), int64(s.head[1+c])
	if !s.shape.Regression {
		return n, q, q
	}
	k := s.shape.Outputs
	return n, q, int64(s.head[1+k+c])<<15 + int64(s.head[1+2*k+c])
}

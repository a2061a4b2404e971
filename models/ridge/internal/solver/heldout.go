package solver

import (
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// HeldOutSums are sums over the rows of a fold, with features z and targets q on their grids.
type HeldOutSums struct {
	N       float64     // number of rows, or the sum of their weights
	Columns []float64   // Σz, length D
	Targets []float64   // Σq, length k
	Squares []float64   // Σ(q-q̄)², length k
	Tiles   [][]float64 // Σzzᵀ, as blas.NewTiles
	Cross   []float64   // Σzqᵀ, row-major D×Width
	Width   int         // at least k
}

// HeldOutFit describes the rows that weights were fitted to.
type HeldOutFit struct {
	N       float64
	Columns []float64 // Σz
	Targets []float64 // Σq
	Factors []float64 // of the squared errors of the outputs
}

// HeldOutErrors holds the memory for computing errors.
type HeldOutErrors struct {
	dim, outputs, threads int

	factors []float64   // of the errors of the outputs
	n       float64     // the weight of the fold
	colMean []float64   // φ̄ of the fold, length D
	scratch [][]float64 // of each worker; see form
	forms   []float64   // for each tile, a term of each quadratic form
}

// someRows is a number of rows of a tile that stay in the cache.
const someRows = 32

// heldOutBytes returns the memory of HeldOutErrors per thread. outputs counts the outputs of all V together.
func heldOutBytes(dim, outputs int) int64 {
	side := min(dim, blas.TileDim)
	return 8 * (someRows*int64(side) + int64(someRows+side)*int64(outputs))
}

// NewHeldOutErrors returns HeldOutErrors for dim features.
func NewHeldOutErrors(dim, outputs, threads int) *HeldOutErrors {
	return &HeldOutErrors{dim: dim, outputs: outputs, threads: threads, colMean: make([]float64, dim),
		scratch: make([][]float64, max(1, threads))}
}

// Squares returns Σ‖q - Vᵀz - b‖² over the rows of fold, in grid units and with the factors of the outputs,
// for each of several V that were fitted to the rows of fit, with the intercept b of the fit. Each V is
// given as its transpose vt, k rows of D, so that products read memory in order.
//
// The fold's own means are subtracted from every term, so that nothing large cancels:
//
//	Σ‖q-q̄‖² - 2 tr VᵀR_c + tr VᵀG_cV + n ‖(q̄-q̄₀) - Vᵀ(z̄-z̄₀)‖²,
//
// where R_c and G_c are centred on the fold, and q̄₀ and z̄₀ are the means of the rows that V was fitted
// to. The last term is the square of the mean residual, because b = q̄₀ - Vᵀz̄₀.
func (h *HeldOutErrors) Squares(fit HeldOutFit, fold HeldOutSums, vt []float64) []float64 {
	d, k, w, n := h.dim, h.outputs, fold.Width, fold.N
	h.factors, h.n = fit.Factors, n
	for j, s := range fold.Columns {
		h.colMean[j] = s / n
	}

	var squares float64 // Σ‖q-q̄‖²
	for c := range k {
		squares += float64(fit.Factors[c] * fold.Squares[c])
	}
	out := make([]float64, len(vt)/(k*d))
	parallel.Each(len(out), h.threads, func(_, i int) {
		e := squares
		for c := range k {
			shift := fold.Targets[c]/n - fit.Targets[c]/fit.N // the mean residual
			for j, v := range vt[(i*k+c)*d:][:d] {
				m := h.colMean[j]
				e -= 2 * float64(fit.Factors[c]*float64(v*(fold.Cross[j*w+c]-float64(m*fold.Targets[c]))))
				shift -= float64(v * (m - fit.Columns[j]/fit.N))
			}
			e += float64(fit.Factors[c] * float64(n*float64(shift*shift)))
		}
		out[i] = e
	})

	blas.Grow(&h.forms, blas.NumTiles(d)*len(out))
	blas.EachTile(d, h.threads, func(worker, t, i, j int) {
		scratch := blas.Grow(&h.scratch[worker], int(heldOutBytes(d, k*len(out))/8))
		h.form(h.forms[t*len(out):][:len(out)], scratch, fold.Tiles[t], vt, i, j)
	})
	for i := range out {
		// Add in the order of the tiles, whichever worker computed them.
		for t := i; t < len(h.forms); t += len(out) {
			out[i] += h.forms[t]
		}
		out[i] = max(out[i], 0) // rounding may put a perfect fit below zero
	}
	return out
}

// form stores what tile (i, j) of G_c and its mirror add to tr VᵀG_cV for each V, with the factors of the
// outputs. scratch holds some rows of the tile, the rows of V as columns, and the product of the two.
func (h *HeldOutErrors) form(dst, scratch, tile, vt []float64, i, j int) {
	d, k := h.dim, h.outputs
	outputs := k * len(dst)
	top, left := i*blas.TileDim, j*blas.TileDim
	rows, cols := blas.TileRows(d, i), blas.TileRows(d, j)
	strip, columns, products := scratch[:someRows*cols], scratch[someRows*cols:][:someRows*outputs],
		scratch[someRows*(cols+outputs):][:outputs*cols]
	mean := h.colMean[left:][:cols]
	clear(products)
	for first := 0; first < rows; first += someRows {
		count := min(someRows, rows-first)
		for r := range count {
			a := first + r
			row, from := strip[r*cols:][:cols], tile[a*cols:][:cols]
			sum := h.n * h.colMean[top+a]
			for b, g := range from {
				row[b] = g - float64(sum*mean[b])
			}
			if i == j { // only the lower half of a diagonal tile holds sums
				row[a] /= 2
				clear(row[a+1:])
			}
			for c := range outputs {
				columns[r*outputs+c] = vt[c*d+top+a]
			}
		}
		blas.Gradient(products, columns, strip, count, cols, outputs, 1)
	}
	for f := range dst {
		var e float64
		for c := range k {
			var p [1]float64
			blas.Dots(p[:], products[(f*k+c)*cols:][:cols], vt[(f*k+c)*d+left:], 0)
			e += float64(2 * h.factors[c] * p[0])
		}
		dst[f] = e
	}
}

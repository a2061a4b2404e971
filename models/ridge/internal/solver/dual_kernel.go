package solver

import (
	"iter"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// kernel is the symmetric n×n matrix K, in the tiles of its lower triangle (as blas.NewTiles).
type kernel struct {
	n     int
	tiles [][]float64
}

// row returns the pieces of row r from column first up to end, at most r+1, each with its first column.
func (k *kernel) row(r, first, end int) iter.Seq2[int, []float64] {
	return func(yield func(int, []float64) bool) {
		i := r / blas.TileDim
		for c := first; c < end; {
			j := c / blas.TileDim
			left, cols := j*blas.TileDim, blas.TileRows(k.n, j)
			upTo := min(end, left+cols)
			at := r % blas.TileDim * cols
			if !yield(c, k.tiles[i*(i+1)/2+j][at+c-left:at+upTo-left]) {
				return
			}
			c = upTo
		}
	}
}

// copyRow copies row r from column first up to end, at most r+1, to dst.
func (k *kernel) copyRow(dst []float64, r, first, end int) {
	for c, piece := range k.row(r, first, end) {
		copy(dst[c-first:], piece)
	}
}

// subtract subtracts the rows of block, as many columns apart, from the rows from first on, from
// that column on. What would lie above the diagonal is left out.
func (k *kernel) subtract(block []float64, first, column, columns, threads int) {
	parallel.Each(len(block)/columns, threads, func(_, i int) {
		for c, piece := range k.row(first+i, column, min(column+columns, first+i+1)) {
			for j, v := range block[i*columns+c-column:][:len(piece)] {
				piece[j] -= v
			}
		}
	})
}

// centre subtracts the weighted means of rows and columns, where row i has the weight u_i², and multiplies
// what is left by u_i·u_j: from the products of rows it makes products of centred rows, each times its u.
func (k *kernel) centre(u []float64, threads int) {
	// (z−z̄)·(z'−z̄) = z·z' − z·z̄ − z'·z̄ + z̄·z̄, of which all products are sums of the kernel.
	with := make([]float64, k.n) // z·z̄
	var weight, own float64      // Σu², z̄·z̄
	for _, v := range u {
		weight += float64(v * v)
	}
	parallel.Each((k.n+blas.TileDim-1)/blas.TileDim, threads, func(_, t int) {
		first, end := t*blas.TileDim, min((t+1)*blas.TileDim, k.n)
		// Each sum runs over the columns in order, of which those above the diagonal are rows.
		for i := first; i < k.n; i++ {
			if i < end {
				var own float64
				for c, piece := range k.row(i, 0, i+1) {
					for j, v := range piece {
						own += float64(float64(u[c+j]*u[c+j]) * v)
					}
				}
				with[i] = own
			}
			for c, piece := range k.row(i, first, min(end, i)) {
				for j, v := range piece {
					with[c+j] += float64(float64(u[i]*u[i]) * v)
				}
			}
		}
	})
	for i := range with {
		with[i] /= weight
		own += float64(float64(u[i]*u[i])*with[i]) / weight
	}
	parallel.Each(k.n, threads, func(_, i int) {
		for c, piece := range k.row(i, 0, i+1) {
			for j, v := range piece {
				piece[j] = float64(u[i]*u[c+j]) * (v - (with[i] + with[c+j]) + own)
			}
		}
	})
}

// without stores K without the rows and columns of a fold, with mu added to its diagonal, in rest.
func (k *kernel) without(rest *kernel, fold *fold, mu float64, threads int) {
	parallel.Each(rest.n, threads, func(_, i int) {
		r := i
		if i >= fold.first {
			r += fold.n
		}
		for c, piece := range rest.row(i, 0, i+1) {
			before := max(0, min(fold.first-c, len(piece)))
			k.copyRow(piece[:before], r, c, c+before)
			k.copyRow(piece[before:], r, c+before+fold.n, c+len(piece)+fold.n)
		}
		*blas.TileDiagonal(rest.tiles, rest.n, i) += mu
	})
}

// across stores rows of a fold, from first up to end, without the columns of the fold in rows, row-major.
func (k *kernel) across(rows []float64, fold *fold, first, end, threads int) {
	n, others := k.n-fold.n, fold.first+fold.n
	groups := (k.n+side-1)/side - others/side
	parallel.Each(end-first+groups, threads, func(_, item int) {
		if item < end-first {
			k.copyRow(rows[item*n:], first+item, 0, fold.first)
			return
		}
		// Rows behind the fold have in its columns what its rows would have in theirs. A tile has
		// whole groups of them.
		g := others/side + item - (end - first)
		upper, lower := max(g*side, others), min((g+1)*side, k.n)
		i, at := upper/blas.TileDim, upper%blas.TileDim
		for c := first; c < end; c++ {
			j := c / blas.TileDim
			tile, cols := k.tiles[i*(i+1)/2+j], blas.TileRows(k.n, j)
			from := at*cols + c - j*blas.TileDim
			for r := range rows[(c-first)*n+upper-fold.n:][:lower-upper] {
				rows[(c-first)*n+upper-fold.n+r] = tile[from+r*cols]
			}
		}
	})
}

// side is the number of rows or columns whose lines of the cache are read side by side to transpose them.
const side = 32

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

// row yields the pieces of row r from column first up to end ≤ r+1, each with its first column.
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

// copyRow copies row r from column first up to end ≤ r+1 to dst.
func (k *kernel) copyRow(dst []float64, r, first, end int) {
	for c, piece := range k.row(r, first, end) {
		copy(dst[c-first:], piece)
	}
}

// subtract subtracts a row-major block of the given number of columns from the rows first, first+1, …,
// beginning at column. Entries above the diagonal are skipped.
func (k *kernel) subtract(block []float64, first, column, columns, threads int) {
	parallel.Each(len(block)/columns, threads, func(_, i int) {
		for c, piece := range k.row(first+i, column, min(column+columns, first+i+1)) {
			for j, v := range block[i*columns+c-column:][:len(piece)] {
				piece[j] -= v
			}
		}
	})
}

// centre turns products of rows into products of centred rows, each scaled by its u. It subtracts the weighted means
// of rows and columns, where row i has the weight u_i², and multiplies entry (i, j) by u_i·u_j.
func (k *kernel) centre(u []float64, threads int) {
	// (z−z̄)·(z'−z̄) = z·z' − z·z̄ − z'·z̄ + z̄·z̄, and each product with z̄ is a sum over the kernel.
	with := make([]float64, k.n) // z·z̄
	var weight, square float64   // Σu², z̄·z̄
	for _, v := range u {
		weight += float64(v * v)
	}
	parallel.Each((k.n+blas.TileDim-1)/blas.TileDim, threads, func(_, t int) {
		first, end := t*blas.TileDim, min((t+1)*blas.TileDim, k.n)
		// Sum over the columns in order. Entries above the diagonal are read from their mirror.
		for i := first; i < k.n; i++ {
			if i < end {
				var product float64
				for c, piece := range k.row(i, 0, i+1) {
					for j, v := range piece {
						product += float64(float64(u[c+j]*u[c+j]) * v)
					}
				}
				with[i] = product
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
		square += float64(float64(u[i]*u[i])*with[i]) / weight
	}
	parallel.Each(k.n, threads, func(_, i int) {
		for c, piece := range k.row(i, 0, i+1) {
			for j, v := range piece {
				piece[j] = float64(u[i]*u[c+j]) * (v - (with[i] + with[c+j]) + square)
			}
		}
	})
}

// without stores in rest the kernel without the rows and columns of a fold, with mu added to the diagonal.
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

// across stores in rows (row-major) the rows first up to end of a fold, without the columns of the fold.
func (k *kernel) across(rows []float64, fold *fold, first, end, threads int) {
	n, others := k.n-fold.n, fold.first+fold.n
	groups := (k.n+side-1)/side - others/side
	parallel.Each(end-first+groups, threads, func(_, item int) {
		if item < end-first {
			k.copyRow(rows[item*n:], first+item, 0, fold.first)
			return
		}
		// Later rows hold, in the fold's columns, the mirror of what the fold's rows have in theirs. A tile
		// has whole groups of such rows.
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

// side is the number of rows or columns that are transposed together, so that cache lines are read once.
const side = 32

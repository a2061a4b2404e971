// Package shifted solves symmetric systems (A + μR)X = B with a diagonal R for several shifts μ: exactly, by a
// factorisation in float64 of each, or by conjugate gradients with factors in float32.
package shifted

import (
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// Matrix is A and R. One n×n square serves every μ: A is above its diagonal and in Diag, which the
// factorisation of the lower triangle does not touch.
type Matrix struct {
	Square []float64 // row-major n×n; the lower triangle and the diagonal are scratch; nil before Reserve
	Diag   []float64 // the diagonal of A
	Ridge  []float64 // the diagonal of R, > 0

	Threads int // to compute with; results do not depend on it

	dim    int
	mirror bool // the lower triangle of the square is the mirror of the upper one, and Diag is between them
}

// New returns A = 0 and R = 0 of n rows.
func New(n, threads int) Matrix {
	return Matrix{
		Diag: make([]float64, n), Ridge: make([]float64, n),
		Threads: threads, dim: n,
	}
}

// Reserve allocates the square, which SolveTiles does without.
func (m *Matrix) Reserve() {
	if m.Square == nil {
		m.Square = blas.Make[float64](m.dim * m.dim)
	}
}

// Solve replaces b (n×k, row-major) by the solution for μ. If the matrix is not positive definite to working
// precision, ok is false and pivot is the 0-based index of the failure.
func (m *Matrix) Solve(b []float64, k int, mu float64) (pivot int, ok bool) {
	lower(m, m.Square, mu)
	m.mirror = false
	if pivot, ok := blas.Cholesky(m.Square, m.dim, m.Threads); !ok {
		return pivot, false
	}
	if pivot, ok := m.sound(mu, func(i int) float64 { return m.Square[i*m.dim+i] }); !ok {
		return pivot, false
	}
	blas.CholeskySolve(m.Square, m.dim, b, k, m.Threads)
	return 0, true
}

// SolveTiles is Solve, with the same bits, for a matrix A in the tiles of its lower triangle (as
// blas.NewTiles), which it overwrites: it needs no square.
func (m *Matrix) SolveTiles(tiles [][]float64, b []float64, k int, mu float64) (pivot int, ok bool) {
	for i := range m.dim {
		g := blas.TileDiagonal(tiles, m.dim, i)
		m.Diag[i] = *g
		*g += float64(mu * m.Ridge[i])
	}
	if pivot, ok := blas.CholeskyTiles(tiles, m.dim, m.Threads); !ok {
		return pivot, false
	}
	if pivot, ok := m.sound(mu, func(i int) float64 { return *blas.TileDiagonal(tiles, m.dim, i) }); !ok {
		return pivot, false
	}
	blas.CholeskyTilesSolve(tiles, m.dim, b, k, m.Threads)
	return 0, true
}

// sound tells whether the pivots of a factor are more than rounding error; if not, it returns the first that may not be.
// A singular matrix may have pivots that are rounding error alone: anything up to n·2⁻⁵² of the original entry.
func (m *Matrix) sound(mu float64, pivot func(int) float64) (first int, ok bool) {
	tiny := float64(m.dim) * 0x1p-52
	for i, g := range m.Diag {
		if l := pivot(i); !(l*l > tiny*(g+float64(mu*m.Ridge[i]))) {
			return i, false
		}
	}
	return 0, true
}

// lower writes A + μR to the lower triangle of dst, n×n, which may be the square.
func lower[T float32 | float64](m *Matrix, dst []T, mu float64) {
	d := m.dim
	const block = 64
	parallel.Each((d+block-1)/block, m.Threads, func(_, i int) {
		// Columns of the square are far apart, by a power of two where d is one, so that a
		// cache would hold few of their lines: rows of a block are copied first.
		var rows [block * block]float64
		top, last := i*block, min((i+1)*block, d)
		for left := 0; left < last; left += block {
			n := last - top
			for c := range min(block, d-left) {
				copy(rows[c*block:][:n], m.Square[(left+c)*d+top:])
			}
			for r := range n {
				to := dst[(top+r)*d+left:]
				for c := range min(block, top+r-left) {
					to[c] = T(rows[c*block+r])
				}
			}
		}
		for r := i * block; r < last; r++ {
			dst[r*d+r] = T(m.Diag[r] + float64(mu*m.Ridge[r]))
		}
	})
}

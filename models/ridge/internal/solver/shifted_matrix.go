package solver

import (
	"github.com/bochner-ml/bochner/internal/blas"
)

// Matrix holds A and R. Descents use the A set by Centre; SolveTiles takes its own.
type Matrix struct {
	Diag  []float64 // the diagonal of A
	Ridge []float64 // the diagonal of R, > 0

	Threads int // number of threads; results do not depend on it

	dim   int
	a     *blas.Symmetric // nil before Centre
	tiles [][]float64     // memory of Tiles
}

// NewMatrix returns A = 0 and R = 0 of n rows.
func NewMatrix(n, threads int) Matrix {
	return Matrix{
		Diag: make([]float64, n), Ridge: make([]float64, n),
		Threads: threads, dim: n,
	}
}

// Tiles returns tiles (as blas.NewTiles) to compute in, with undefined content. They reuse the memory of
// the A of Centre, which is lost.
func (m *Matrix) Tiles() [][]float64 {
	switch {
	case m.tiles != nil:
	case m.a != nil:
		m.tiles = m.a.Tiles()
	default:
		m.tiles = blas.NewTiles(m.dim)
	}
	return m.tiles
}

// SolveTiles replaces b (n×k, row-major) by the solution of (A + μR)X = b, for an A in tiles of its lower
// triangle (as blas.NewTiles), which it overwrites. If the matrix is not positive definite to working
// precision, ok is false and pivot is the index of the failure.
func (m *Matrix) SolveTiles(tiles [][]float64, b []float64, k int, mu float64) (pivot int, ok bool) {
	for i := range m.dim {
		g := blas.TileDiagonal(tiles, m.dim, i)
		m.Diag[i] = *g
		*g += float64(mu * m.Ridge[i])
	}
	if pivot, ok := blas.CholeskyTiles(tiles, m.dim, m.Threads); !ok {
		return pivot, false
	}
	// The pivots of a singular matrix may be rounding error: up to n·2⁻⁵² of the original entry.
	tiny := float64(m.dim) * 0x1p-52
	for i, g := range m.Diag {
		if l := *blas.TileDiagonal(tiles, m.dim, i); !(l*l > tiny*(g+float64(mu*m.Ridge[i]))) {
			return i, false
		}
	}
	blas.CholeskyTilesSolve(tiles, m.dim, b, k, m.Threads)
	return 0, true
}

// Centre sets the matrix A of descents to G - minus - s sᵀ/n. G and minus are given by the tiles of their
// lower triangles (as blas.NewTiles); minus may be nil.
func (m *Matrix) Centre(tiles, minus [][]float64, s []float64, n float64) {
	if m.a == nil {
		m.a = blas.NewSymmetric(m.dim)
	}
	m.a.Set(m.Threads, func(run []float64, row, from int) {
		centre(run, m.row(tiles, row, from), m.row(minus, row, from), s[from:], s[row], n)
		if from+len(run) > row {
			m.Diag[row] = run[row-from]
		}
	})
}

// row returns a row of tiles from column from on, where a tile begins; nil without tiles.
func (m *Matrix) row(tiles [][]float64, row, from int) []float64 {
	if tiles == nil {
		return nil
	}
	i, j := row/blas.TileDim, from/blas.TileDim
	cols := blas.TileRows(m.dim, j)
	return tiles[i*(i+1)/2+j][(row-i*blas.TileDim)*cols:][:cols]
}

// centre stores g - less - s·factor/n in dst.
func centre(dst, g, less, s []float64, factor, n float64) {
	g, s = g[:len(dst)], s[:len(dst)]
	if less == nil {
		for b := range dst {
			dst[b] = g[b] - s[b]*factor/n
		}
		return
	}
	less = less[:len(dst)]
	for b := range dst {
		dst[b] = g[b] - less[b] - s[b]*factor/n
	}
}

// CentreTiles stores G - minus - s sᵀ/n in dst, for SolveTiles. All three are tiles of lower triangles;
// minus may be nil, and dst may be G's tiles.
func (m *Matrix) CentreTiles(dst, tiles, minus [][]float64, s []float64, n float64) {
	blas.EachTile(m.dim, m.Threads, func(_, _, i, j int) {
		for row := i * blas.TileDim; row < i*blas.TileDim+blas.TileRows(m.dim, i); row++ {
			from := j * blas.TileDim
			run := m.row(dst, row, from)
			centre(run[:min(len(run), row+1-from)], m.row(tiles, row, from), m.row(minus, row, from), s[from:], s[row], n)
		}
	})
}

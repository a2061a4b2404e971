package solver

import "github.com/bochner-ml/bochner/internal/blas"

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

// centre stores g - less - s·of/n in dst.
func centre(dst, g, less, s []float64, of, n float64) {
	g, s = g[:len(dst)], s[:len(dst)]
	if less == nil {
		for b := range dst {
			dst[b] = g[b] - s[b]*of/n
		}
		return
	}
	less = less[:len(dst)]
	for b := range dst {
		dst[b] = g[b] - less[b] - s[b]*of/n
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

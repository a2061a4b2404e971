package shifted

import "github.com/bochner-ml/bochner/internal/blas"

// Centre sets A to G - s sᵀ/n, for a matrix G in the tiles of its lower triangle (as blas.NewTiles), from which those of
// minus are subtracted; minus may be nil. It reserves the square.
func (m *Matrix) Centre(tiles, minus [][]float64, s []float64, n float64) {
	m.Reserve()
	m.mirror = false
	blas.EachTile(m.dim, m.Threads, func(_, t, i, j int) {
		top, left := i*blas.TileDim, j*blas.TileDim
		rows, cols := blas.TileRows(m.dim, i), blas.TileRows(m.dim, j)
		tile := tiles[t]
		var less []float64
		if minus != nil {
			less = minus[t]
		}
		for b := range cols {
			first := 0
			if i == j {
				first = b
			}
			// Column b of the tile becomes part of a row above the diagonal.
			dst := m.Square[(left+b)*m.dim+top:][:rows]
			sb := s[left+b]
			for a := first; a < rows; a++ {
				g := tile[a*cols+b]
				if less != nil {
					g -= less[a*cols+b]
				}
				g -= sb * s[top+a] / n
				if i == j && a == b {
					m.Diag[left+b] = g
				} else {
					dst[a] = g
				}
			}
		}
	})
}

// CentreTiles subtracts s sᵀ/n from a matrix in the tiles of its lower triangle, in their place, with the same bits:
// for SolveTiles.
func (m *Matrix) CentreTiles(tiles [][]float64, s []float64, n float64) {
	blas.EachTile(m.dim, m.Threads, func(_, t, i, j int) {
		cols := blas.TileRows(m.dim, j)
		for a := range blas.TileRows(m.dim, i) {
			sa := s[i*blas.TileDim+a]
			for b := range min(cols, (i-j)*blas.TileDim+a+1) {
				tiles[t][a*cols+b] -= s[j*blas.TileDim+b] * sa / n
			}
		}
	})
}

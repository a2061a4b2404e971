package blas

import "math"

// Symmetric is a symmetric matrix A (n×n) by its lower triangle, laid out for products with few
// vectors. A product reads the triangle once. It is not safe for concurrent use.
type Symmetric struct {
	n, pitch int
	// Tiles as NewTiles makes them, with rows that are an odd number of cache lines apart, and
	// zeros after the columns. Those on the diagonal are whole.
	tiles [][]float64

	// Of some rows of a product: they as columns, and what each tile and its mirror add.
	columns, parts []float64
}

const (
	stripRows  = 32            // of a tile that stay in the cache for both products
	stripPitch = stripRows + 8 // of their transpose
	atOnce     = 32            // rows of a product that are computed together
)

// upTo16 rounds up to whole vectors of the kernels.
func upTo16(n int) int { return (n + lanes - 1) / lanes * lanes }

// NewSymmetric returns the matrix of zeros.
func NewSymmetric(n int) *Symmetric {
	s := &Symmetric{n: n, pitch: upTo16(min(n, TileDim)) + 8}
	for i := 0; i*TileDim < n; i++ {
		for range i + 1 {
			s.tiles = append(s.tiles, Make[float64](TileRows(n, i)*s.pitch))
		}
	}
	return s
}

// SymmetricBytes returns the memory of a Symmetric of n rows that multiplies k vectors at a time.
func SymmetricBytes(n, k int) int64 {
	side := int64(upTo16(min(n, TileDim)))
	tiles := int64((n + TileDim - 1) / TileDim)
	vectors := int64(min(k, atOnce))
	var bytes int64
	for i := range int(tiles) {
		bytes += 8 * int64(i+1) * int64(TileRows(n, i)) * (side + 8)
	}
	return bytes + 8*vectors*(int64(n)+tiles*tiles*side)
}

// Set stores the matrix: f is called, from several goroutines, for runs of its lower triangle, and
// stores the elements from column `from` on of a row in run.
func (s *Symmetric) Set(threads int, f func(run []float64, row, from int)) {
	parallel(threads, len(s.tiles), func(t int, _ *scratch) {
		s.runs(t, f)
		i, j := tileAt(t)
		for a := range TileRows(s.n, i) {
			clear(s.tiles[t][a*s.pitch+TileRows(s.n, j) : (a+1)*s.pitch])
		}
		if i == j {
			for a := range TileRows(s.n, i) {
				for b, v := range s.tiles[t][a*s.pitch:][:a] {
					s.tiles[t][b*s.pitch+a] = v
				}
			}
		}
	})
}

// Runs calls f, from several goroutines, with runs of the lower triangle, as Set does.
func (s *Symmetric) Runs(threads int, f func(run []float64, row, from int)) {
	parallel(threads, len(s.tiles), func(t int, _ *scratch) { s.runs(t, f) })
}

func (s *Symmetric) runs(t int, f func(run []float64, row, from int)) {
	i, j := tileAt(t)
	for a := range TileRows(s.n, i) {
		cols := TileDim
		if i == j {
			cols = a + 1
		}
		f(s.tiles[t][a*s.pitch:][:cols], i*TileDim+a, j*TileDim)
	}
}

// Tiles returns the memory of the matrix as tiles (as NewTiles) of any numbers, after which it must
// be set again.
func (s *Symmetric) Tiles() [][]float64 {
	tiles := make([][]float64, len(s.tiles))
	for t, tile := range s.tiles {
		i, j := tileAt(t)
		tiles[t] = tile[:TileRows(s.n, i)*TileRows(s.n, j)]
	}
	return tiles
}

// tileAt returns row and column of the t-th tile.
func tileAt(t int) (i, j int) {
	i = int((math.Sqrt(8*float64(t)+1) - 1) / 2)
	return i, t - i*(i+1)/2
}

// Multiply stores X·A in dst, both k×n. Of each element, the products with the columns of a tile
// are one chain of fused multiply-adds from 0 on, in order, and the chains of the tiles are added
// in order.
func (s *Symmetric) Multiply(dst, x []float64, k, threads int) {
	checkThin(k, s.n, k, len(x))
	if len(dst) < k*s.n {
		panic("blas: destination too short")
	}
	for first := 0; first < k; first += atOnce {
		s.multiply(dst[first*s.n:], x[first*s.n:], min(atOnce, k-first), threads)
	}
}

// multiply stores in dst (k×n) the products of the matrix with the k rows of x. Each tile below the diagonal is used
// twice, as itself and mirrored. Tiles add to parts of their own, which are then summed in a fixed order, so the
// result does not depend on the threads.
func (s *Symmetric) multiply(dst, x []float64, k, threads int) {
	n, side, tiles := s.n, s.pitch-8, (s.n+TileDim-1)/TileDim
	columns := Grow(&s.columns, n*k)
	parallel(threads, (n+stripRows-1)/stripRows, func(b int, _ *scratch) {
		from := b * stripRows
		transpose(columns[from*k:], k, x[from:], n, k, min(stripRows, n-from))
	})
	// Of rows i of the result, what columns j of A add.
	parts := Grow(&s.parts, tiles*tiles*k*side)
	part := func(i, j int) []float64 { return parts[(i*tiles+j)*k*side:][:k*side] }
	l := active()
	parallel(threads, len(s.tiles), func(t int, room *scratch) {
		i, j := tileAt(t)
		rows, cols := TileRows(n, i), TileRows(n, j)
		tile, mirrored := s.tiles[t], Grow(&room.a64, TileDim*stripPitch)
		down, right := part(j, i), part(i, j)
		clear(down)
		for r := 0; r < rows; r += stripRows {
			high := min(stripRows, rows-r)
			strip := tile[r*s.pitch:]
			l.gradient64(down, side, columns[(i*TileDim+r)*k:], k, strip, s.pitch, high, upTo16(cols), k)
			if i == j {
				continue
			}
			wide := upTo16(high)
			if wide > high {
				clear(mirrored[:cols*stripPitch])
			}
			transpose(mirrored, stripPitch, strip, s.pitch, high, cols)
			for c := range k {
				clear(right[c*side+r:][:wide])
			}
			l.gradient64(right[r:], side, columns[j*TileDim*k:], k, mirrored, stripPitch, cols, wide, k)
		}
	})
	parallel(threads, tiles*k, func(item int, _ *scratch) {
		i, c := item/k, item%k
		to := dst[c*n+i*TileDim:][:TileRows(n, i)]
		copy(to, part(i, 0)[c*side:])
		for j := 1; j < tiles; j++ {
			for a, v := range part(i, j)[c*side:][:len(to)] {
				to[a] += v
			}
		}
	})
}

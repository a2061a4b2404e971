package blas

import "sync/atomic"

// CholeskyTiles factors the matrix of a Gram's tiles (as NewTiles) in place: what Cholesky does for a
// square, bit for bit, in half the memory. It neither reads nor writes above the diagonal.
func CholeskyTiles[T float32 | float64](tiles [][]T, d, threads int) (pivot int, ok bool) {
	if len(tiles) != NumTiles(d) {
		panic("blas: another number of tiles than NumTiles")
	}
	at := func(i, j int) int { return i*(i+1)/2 + j }
	// Column by column, each tile as soon as those that it needs are done: they come before it in that order, so that the
	// first that is not done never waits.
	var order [][2]int
	n := (d + TileDim - 1) / TileDim
	for j := range n {
		for i := j; i < n; i++ {
			order = append(order, [2]int{i, j})
		}
	}
	done := make([]chan struct{}, len(tiles))
	for t := range done {
		done[t] = make(chan struct{})
	}
	var bad atomic.Int64 // the first bad pivot, or d
	bad.Store(int64(d))
	parallel(threads, len(order), func(item int, _ *scratch) {
		i, j := order[item][0], order[item][1]
		own := at(i, j)
		defer close(done[own])
		if bad.Load() < int64(d) {
			return
		}
		c, rows, cols := tiles[own], TileRows(d, i), TileRows(d, j)
		for k := range j {
			a, b := at(i, k), at(j, k)
			<-done[a]
			<-done[b]
			// Elements continue their chains over the columns of earlier tiles, in order.
			gemm(product[T]{c: c, cs: cols, m: rows, n: cols, lower: i == j,
				a: tiles[a], as: TileDim, b: tiles[b], bs: TileDim, k: TileDim}, 1)
		}
		if i == j {
			if p := factor(c, cols, 0, cols, 1); p != cols {
				bad.CompareAndSwap(int64(d), int64(j*TileDim+p))
			}
			return
		}
		<-done[at(j, j)]
		solveRows(c, cols, rows, tiles[at(j, j)], cols, cols, false, 0)
	})
	pivot = int(bad.Load())
	return pivot, pivot == d
}

// CholeskyTilesSolve replaces b (d×k) by A⁻¹·B, given the factor that CholeskyTiles left, with the bits
// of CholeskySolve.
func CholeskyTilesSolve(tiles [][]float64, d int, b []float64, k, threads int) {
	if len(tiles) != NumTiles(d) {
		panic("blas: another number of tiles than NumTiles")
	}
	if len(b) < d*k {
		panic("blas: right sides shorter than n×k")
	}
	if d == 0 || k == 0 {
		return
	}
	n := (d + TileDim - 1) / TileDim
	at := func(i, j int) []float64 { return tiles[i*(i+1)/2+j] }
	x := make([]float64, k*d)
	transpose(x, d, b, k, d, k)
	// What is solved is subtracted from all others at once.
	for j := range n {
		xj, cols := x[j*TileDim:], TileRows(d, j)
		solveRows(xj, d, k, at(j, j), cols, cols, false, threads)
		parallel(threads, n-j-1, func(item int, _ *scratch) {
			i := j + 1 + item
			gemm(product[float64]{c: x[i*TileDim:], cs: d, m: k, n: TileRows(d, i), a: xj, as: d, b: at(i, j), bs: TileDim, k: TileDim}, 1)
		})
	}
	for i := n - 1; i >= 0; i-- {
		xi, rows := x[i*TileDim:], TileRows(d, i)
		solveRows(xi, d, k, at(i, i), rows, rows, true, threads)
		parallel(threads, i, func(j int, _ *scratch) {
			gemm(product[float64]{c: x[j*TileDim:], cs: d, m: k, n: TileDim, a: xi, as: d, b: at(i, j), bs: TileDim, k: rows, back: true}, 1)
		})
	}
	transpose(b, k, x, d, k, d)
}

// TileDiagonal returns element i of the diagonal of a matrix of tiles.
func TileDiagonal[T float32 | float64](tiles [][]T, d, i int) *T {
	t := i / TileDim
	return &tiles[t*(t+1)/2+t][i%TileDim*(TileRows(d, t)+1)]
}

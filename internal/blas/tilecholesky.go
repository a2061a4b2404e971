package blas

import "sync/atomic"

// CholeskyTiles factors the matrix of a Gram's tiles (as NewTiles) in place: what Cholesky does for a
// square, bit for bit, in half the memory. It neither reads nor writes above the diagonal.
func CholeskyTiles[T float32 | float64](tiles [][]T, d, threads int) (pivot int, ok bool) {
	if len(tiles) != NumTiles(d) {
		panic("blas: another number of tiles than NumTiles")
	}
	side := blockSide(d, threads)
	pivot = factorBlocks(d, side, TileDim/side, threads, func(i, j int) (block []T, pitch int) {
		i, j = i*side, j*side
		t, u := i/TileDim, j/TileDim
		pitch = TileRows(d, u)
		return tiles[t*(t+1)/2+u][i%TileDim*pitch+j%TileDim:], pitch
	})
	return pivot, pivot == d
}

// blockSide returns the side of the blocks that threads factor a matrix of n rows by: a tile, or a
// part of one where there would be so few that threads wait for each other.
func blockSide(n, threads int) int {
	if threads > 1 && n <= 3*TileDim {
		return TileDim / 3
	}
	return TileDim
}

// factorBlocks factors a matrix of n rows in square blocks, of which together blocks side by side have
// their columns one after the other. It returns the index of the first bad pivot, or n.
func factorBlocks[T real](n, side, together, threads int, block func(i, j int) (elements []T, pitch int)) int {
	// Column by column, each block as soon as those that it needs are done: they come before it in
	// that order, so that the first that is not done never waits.
	var order [][2]int
	blocks := (n + side - 1) / side
	for j := range blocks {
		for i := j; i < blocks; i++ {
			order = append(order, [2]int{i, j})
		}
	}
	at := func(i, j int) int { return i*(i+1)/2 + j }
	done := make([]chan struct{}, len(order))
	for t := range done {
		done[t] = make(chan struct{})
	}
	var bad atomic.Int64 // the first bad pivot, or n
	bad.Store(int64(n))
	parallel(threads, len(order), func(item int, _ *scratch) {
		i, j := order[item][0], order[item][1]
		defer close(done[at(i, j)])
		if bad.Load() < int64(n) {
			return
		}
		c, cs := block(i, j)
		rows, cols := min(side, n-i*side), min(side, n-j*side)
		for k := 0; k < j; {
			end := min(j, (k/together+1)*together)
			for b := k; b < end; b++ {
				<-done[at(i, b)]
				<-done[at(j, b)]
			}
			// Elements continue their chains over the columns of earlier blocks, in order.
			left, ls := block(i, k)
			right, rs := block(j, k)
			gemm(product[T]{c: c, cs: cs, m: rows, n: cols, lower: i == j, a: left, as: ls, b: right, bs: rs,
				k: (end - k) * side}, 1)
			k = end
		}
		if i == j {
			if p := factor(c, cs, 0, cols); p != cols {
				bad.CompareAndSwap(int64(n), int64(j*side+p))
			}
			return
		}
		<-done[at(j, j)]
		l, ls := block(j, j)
		solveRows(c, cs, rows, l, ls, cols, forward, 0)
	})
	return int(bad.Load())
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
		solveRows(xj, d, k, at(j, j), cols, cols, forward, threads)
		parallel(threads, n-j-1, func(item int, _ *scratch) {
			i := j + 1 + item
			gemm(product[float64]{c: x[i*TileDim:], cs: d, m: k, n: TileRows(d, i), a: xj, as: d, b: at(i, j), bs: TileDim,
				k: TileDim}, 1)
		})
	}
	backTiles(tiles, d, x, k, threads)
	transpose(b, k, x, d, k, d)
}

// CholeskyTilesBack replaces k rows of d numbers, one after the other in x, by solutions of Lᵀ·y = x, given
// the factor that CholeskyTiles left.
func CholeskyTilesBack(tiles [][]float64, d int, x []float64, k, threads int) {
	if len(tiles) != NumTiles(d) {
		panic("blas: another number of tiles than NumTiles")
	}
	if len(x) < d*k {
		panic("blas: right sides shorter than k×n")
	}
	if d > 0 && k > 0 {
		backTiles(tiles, d, x, k, threads)
	}
}

func backTiles(tiles [][]float64, d int, x []float64, k, threads int) {
	at := func(i, j int) []float64 { return tiles[i*(i+1)/2+j] }
	for i := (d+TileDim-1)/TileDim - 1; i >= 0; i-- {
		xi, rows := x[i*TileDim:], TileRows(d, i)
		solveRows(xi, d, k, at(i, i), rows, rows, backward, threads)
		parallel(threads, i, func(j int, _ *scratch) {
			gemm(product[float64]{c: x[j*TileDim:], cs: d, m: k, n: TileDim, a: xi, as: d, b: at(i, j), bs: TileDim, k: rows,
				back: true}, 1)
		})
	}
}

// TileDiagonal returns element i of the diagonal of a matrix of tiles.
func TileDiagonal[T float32 | float64](tiles [][]T, d, i int) *T {
	t := i / TileDim
	return &tiles[t*(t+1)/2+t][i%TileDim*(TileRows(d, t)+1)]
}

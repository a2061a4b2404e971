package blas

// CholeskyTiles factors the matrix of a Gram's tiles (as NewTiles) in place: what Cholesky does for a
// square, bit for bit, in half the memory. It neither reads nor writes above the diagonal.
func CholeskyTiles[T float32 | float64](tiles [][]T, d, threads int) (pivot int, ok bool) {
	if len(tiles) != NumTiles(d) {
		panic("blas: another number of tiles than NumTiles")
	}
	n := (d + TileDim - 1) / TileDim
	at := func(i, j int) []T { return tiles[i*(i+1)/2+j] }
	for j := range n {
		cols := TileRows(d, j)
		// Elements continue their chains over the columns of earlier tiles, in order.
		less := func(i, threads int) {
			c := at(i, j)
			for k := range j {
				gemm(product[T]{c: c, cs: cols, m: TileRows(d, i), n: cols, lower: i == j,
					a: at(i, k), as: TileDim, b: at(j, k), bs: TileDim, k: TileDim}, threads)
			}
		}
		less(j, threads)
		if p := factor(at(j, j), cols, 0, cols, threads); p != cols {
			return j*TileDim + p, false
		}
		parallel(threads, n-j-1, func(item int, _ *scratch) {
			i := j + 1 + item
			less(i, 1)
			solveRows(at(i, j), cols, TileRows(d, i), at(j, j), cols, cols, false, 0)
		})
	}
	return d, true
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
	for i := range n {
		xi, rows := x[i*TileDim:], TileRows(d, i)
		for j := range i {
			gemm(product[float64]{c: xi, cs: d, m: k, n: rows, a: x[j*TileDim:], as: d, b: at(i, j), bs: TileDim, k: TileDim}, threads)
		}
		solveRows(xi, d, k, at(i, i), rows, rows, false, threads)
	}
	for j := n - 1; j >= 0; j-- {
		xj, cols := x[j*TileDim:], TileRows(d, j)
		for i := n - 1; i > j; i-- {
			gemm(product[float64]{c: xj, cs: d, m: k, n: cols, a: x[i*TileDim:], as: d, b: at(i, j), bs: cols, k: TileRows(d, i), back: true}, threads)
		}
		solveRows(xj, d, k, at(j, j), cols, cols, true, threads)
	}
	transpose(b, k, x, d, k, d)
}

// TileDiagonal returns element i of the diagonal of a matrix of tiles.
func TileDiagonal[T float32 | float64](tiles [][]T, d, i int) *T {
	t := i / TileDim
	return &tiles[t*(t+1)/2+t][i%TileDim*(TileRows(d, t)+1)]
}

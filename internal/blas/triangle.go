package blas

// Triangle is a Cholesky factor L in float32, laid out for repeated solves with few right-hand sides,
// as the preconditioner of an iteration in float64. It is safe for concurrent use, except during Set.
type Triangle struct {
	n int
	// Runs of triangleRows rows, each as long as its last one, row-major. The square
	// on the diagonal holds the inverse of its tile of L, so that all is products.
	runs [][]float32
}

const triangleRows = 256

// NewTriangle copies L (n×n) from the lower triangle of tiles, where CholeskyTiles left it.
func NewTriangle(tiles [][]float32, n, threads int) *Triangle {
	if n < 0 {
		panic("blas: negative size")
	}
	t := &Triangle{n: n, runs: make([][]float32, (n+triangleRows-1)/triangleRows)}
	t.Set(tiles, threads)
	return t
}

// Set makes the triangle of another L, in the memory that it has.
func (t *Triangle) Set(tiles [][]float32, threads int) {
	n := t.n
	if len(tiles) != NumTiles(n) {
		panic("blas: another number of tiles than NumTiles")
	}
	parallel(threads, len(t.runs), func(run int, _ *scratch) {
		top := run * triangleRows
		rows := min(triangleRows, n-top)
		width := top + rows
		if t.runs[run] == nil {
			t.runs[run] = Make[float32](rows * width)
		}
		to := t.runs[run]
		for r := range rows {
			i := (top + r) / TileDim
			for j := range i + 1 {
				from := j * TileDim
				cols := TileRows(n, j)
				row := tiles[i*(i+1)/2+j][(top+r-i*TileDim)*cols:][:cols]
				copy(to[r*width+from:][:max(0, min(cols, top+r+1-from))], row)
			}
		}
		// X·Lᵀ = I gives the inverse of the square, transposed.
		x := make([]float32, rows*rows)
		for i := range rows {
			x[i*rows+i] = 1
		}
		solveRows(x, rows, rows, to[top:], width, rows, false, 0)
		transpose(to[top:], width, x, rows, rows, rows)
	})
}

// TriangleBytes returns the memory that a Triangle of n rows holds.
func TriangleBytes(n int) int64 {
	runs := int64(n+triangleRows-1) / triangleRows
	return 4 * int64(n) * triangleRows * (runs + 1) / 2
}

// Solve replaces each of the k rows of x (k×n) by (L·Lᵀ)⁻¹ of it. Products are computed as in
// Scores and Gradient.
func (t *Triangle) Solve(x []float32, k, threads int) {
	if k < 0 || len(x) < k*t.n {
		panic("blas: right sides shorter than k×n")
	}
	if k == 0 {
		return
	}
	l, n := active(), t.n
	product := make([]float32, triangleRows*k)
	side := make([]float32, triangleRows*k)
	for run, a := range t.runs {
		top := run * triangleRows
		rows := min(triangleRows, n-top)
		width := top + rows
		items := (rows + scoreRun - 1) / scoreRun
		// Right sides less what is solved already, then the square.
		parallel(threads, items, func(item int, _ *scratch) {
			i := item * scoreRun
			high := min(scoreRun, rows-i)
			l.scores(product[i*k:], k, a[i*width:], width, x, n, top, high, k)
			for r := i; r < i+high; r++ {
				for c := range k {
					side[c*rows+r] = x[c*n+top+r] - product[r*k+c]
				}
			}
		})
		parallel(threads, items, func(item int, _ *scratch) {
			i := item * scoreRun
			high := min(scoreRun, rows-i)
			l.scores(product[i*k:], k, a[i*width+top:], width, side, rows, rows, high, k)
			for r := i; r < i+high; r++ {
				for c := range k {
					x[c*n+top+r] = product[r*k+c]
				}
			}
		})
	}
	for run := len(t.runs) - 1; run >= 0; run-- {
		a, top := t.runs[run], run*triangleRows
		rows := min(triangleRows, n-top)
		width := top + rows
		for r := range rows {
			for c := range k {
				product[r*k+c] = x[c*n+top+r]
			}
		}
		clear(side[:k*rows])
		addThin(l.gradient, side, rows, product, a[top:], width, rows, rows, k, threads)
		for c := range k {
			copy(x[c*n+top:][:rows], side[c*rows:])
			for r, v := range side[c*rows:][:rows] {
				product[r*k+c] = -v
			}
		}
		if top > 0 {
			addThin(l.gradient, x, n, product, a, width, rows, top, k, threads)
		}
	}
}

package blas

import "math"

const (
	base   = 32  // the size below which triangles are not cut further
	shared = 256 // the size below which each thread has rows and packs the triangle for itself
)

// Cholesky replaces the lower triangle of a (n×n) by L with L·Lᵀ = A. It
// neither reads nor writes above the diagonal. Each element is
//
//	l_ij = (a_ij - l_i0·l_j0 - … - l_i,j-1·l_j,j-1) / l_jj,   l_jj = √(a_jj - …)
//
// with fused multiply-adds from left to right, so that the blocked recursion
// used here gives the bits of the textbook loop.
//
// If a pivot is not positive (or NaN), Cholesky returns its index and false. Then a
// holds that pivot at (pivot, pivot); its other elements are unspecified.
func Cholesky[T float32 | float64](a []T, n, threads int) (pivot int, ok bool) {
	if n < 0 || len(a) < n*n {
		panic("blas: matrix shorter than n×n")
	}
	if side := blockSide(n, threads); n > side {
		pivot = factorBlocks(n, side, 1<<30, threads, func(i, j int) ([]T, int) { return a[i*side*n+j*side:], n })
	} else if n > 0 {
		pivot = factor(a, n, 0, n)
	}
	return pivot, pivot == n
}

// factor factors the n×n triangle of a (row length ld) at (at, at), and returns
// the index of the first bad pivot in a, or at+n.
func factor[T real](a []T, ld, at, n int) int {
	if n <= base {
		return factorBase(a[at*ld+at:], ld, n) + at
	}
	n1 := (n/2 + base - 1) / base * base
	if p := factor(a, ld, at, n1); p != at+n1 {
		return p
	}
	mid := at + n1
	l11, l21 := a[at*ld+at:], a[mid*ld+at:]
	m := n - n1
	solveRows(l21, ld, m, l11, ld, n1, forward, 0)
	gemm(product[T]{c: a[mid*ld+mid:], cs: ld, m: m, n: m, lower: true, a: l21, as: ld, b: l21, bs: ld, k: n1}, 1)
	return factor(a, ld, mid, m)
}

// factorBase is factor for a triangle at 0 with 1 ≤ n ≤ base. It copies the rows side by side.
func factorBase[T real](a []T, ld, n int) int {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	_, buffer := tilesOf[T](s)
	t := Grow(buffer, base*base)
	clear(t)
	for i := range n {
		for j, v := range a[i*ld:][:i+1] {
			t[j*base+i] = v
		}
	}
	pivot := denseOf[T](active()).factor(t, n)
	for i := range n {
		row := a[i*ld:][:i+1]
		for j := range row {
			row[j] = t[j*base+i]
		}
	}
	return pivot
}

// CholeskySolve replaces b (n×k) by A⁻¹·B, given the factor that Cholesky left
// in the lower triangle of a. Forward substitution runs over the columns of L
// in order, backward substitution from the last to the first, each as one
// chain of fused multiply-adds and a division for each element.
func CholeskySolve(a []float64, n int, b []float64, k, threads int) {
	if n < 0 || len(a) < n*n {
		panic("blas: matrix shorter than n×n")
	}
	if k < 0 || len(b) < n*k {
		panic("blas: right sides shorter than n×k")
	}
	if n == 0 || k == 0 {
		return
	}
	// Right sides become rows: X·Lᵀ = Bᵀ, then X·L.
	x := make([]float64, k*n)
	transpose(x, n, b, k, n, k)
	solveRows(x, n, k, a, n, n, forward, threads)
	solveRows(x, n, k, a, n, n, backward, threads)
	transpose(b, k, x, n, k, n)
}

// SubProduct subtracts A·Bᵀ from C (m×n), for A (m×k) and B (n×k). Each element is one
// chain of fused multiply-adds over k in order, which starts with the element of C.
func SubProduct(c, a, b []float64, m, n, k, threads int) {
	if m < 0 || n < 0 || k < 0 || len(c) < m*n || len(a) < m*k || len(b) < n*k {
		panic("blas: matrix too short")
	}
	if m > 0 && n > 0 && k > 0 {
		gemm(product[float64]{c: c, cs: n, m: m, n: n, a: a, as: k, b: b, bs: k, k: k}, threads)
	}
}

// direction is the order of a substitution, and of packed numbers.
type direction bool

const forward, backward direction = false, true

// solveRows replaces the m rows of x (length n, xs apart) by the rows of Y with
// Y·Lᵀ = X (forward), or Y·L = X (backward), for the n×n triangle l with rows ls apart. With
// threads 0, the rows belong to one thread already and are not cut further.
func solveRows[T real](x []T, xs, m int, l []T, ls, n int, d direction, threads int) {
	if n <= base {
		solveBase(x, xs, m, l, ls, n, d)
		return
	}
	if n <= shared && m > base && threads > 0 {
		// Enough rows that packing the triangle pays, but not more than stay in the cache
		// between two uses.
		rows := min(512, max(base, (m/max(threads, 1)+base-1)/base*base))
		parallel(threads, (m+rows-1)/rows, func(item int, _ *scratch) {
			i := item * rows
			solveRows(x[i*xs:], xs, min(rows, m-i), l, ls, n, d, 0)
		})
		return
	}
	n1 := (n/2 + base - 1) / base * base
	l21, l22 := l[n1*ls:], l[n1*ls+n1:]
	if d == backward {
		solveRows(x[n1:], xs, m, l22, ls, n-n1, backward, threads)
		gemm(product[T]{c: x, cs: xs, m: m, n: n1, a: x[n1:], as: xs, b: l21, bs: ls, k: n - n1, back: true}, threads)
		solveRows(x, xs, m, l, ls, n1, backward, threads)
		return
	}
	solveRows(x, xs, m, l, ls, n1, forward, threads)
	gemm(product[T]{c: x[n1:], cs: xs, m: m, n: n - n1, a: x, as: xs, b: l21, bs: ls, k: n1}, threads)
	solveRows(x[n1:], xs, m, l22, ls, n-n1, forward, threads)
}

// solveBase is solveRows for n ≤ base. It packs 32 right-hand sides side by side. Backward,
// it rotates the triangle by 180°, which makes it lower again.
func solveBase[T real](x []T, xs, m int, l []T, ls, n int, d direction) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	_, buffer := tilesOf[T](s)
	both := Grow(buffer, 2*base*base)
	t, turned := both[:base*base], both[base*base:]
	if d == backward {
		for i := range n {
			for j := range i + 1 {
				turned[i*base+j] = l[(n-1-j)*ls+n-1-i]
			}
		}
		l, ls = turned, base
	}
	lv := denseOf[T](active())
	for i := 0; i < m; i += base {
		rows := min(base, m-i)
		if rows < base {
			clear(t)
		}
		transpose(t, base, x[i*xs:], xs, rows, n)
		if d == backward {
			turn(t, n)
		}
		lv.solve(t, l, ls, n)
		if d == backward {
			turn(t, n)
		}
		transpose(x[i*xs:], xs, t, base, n, rows)
	}
}

// turn puts the n rows of t in the opposite order.
func turn[T real](t []T, n int) {
	var row [base]T
	for i, j := 0, n-1; i < j; i, j = i+1, j-1 {
		a, b := t[i*base:][:base], t[j*base:][:base]
		copy(row[:], a)
		copy(a, b)
		copy(b, row[:])
	}
}

// solveGo is the twin of the kernels for solve.
func solveGo(x, l []float64, ls, n int) {
	for j := range n {
		xj := x[j*base:][:base]
		for p, v := range l[j*ls:][:j] {
			xp := x[p*base:][:base]
			for i := range xj {
				xj[i] = math.FMA(-xp[i], v, xj[i])
			}
		}
		d := l[j*ls+j]
		for i := range xj {
			xj[i] /= d
		}
	}
}

// factorGo is the twin of the kernels for factor.
func factorGo(x []float64, n int) int {
	for j := range n {
		xj := x[j*base:][:base]
		for p := range j {
			xp := x[p*base:][:base]
			v := xp[j]
			for i := range xj {
				xj[i] = math.FMA(-xp[i], v, xj[i])
			}
		}
		if !(xj[j] > 0) {
			return j
		}
		d := math.Sqrt(xj[j])
		for i := range xj {
			xj[i] /= d
		}
		xj[j] = d
	}
	return n
}

// factor32Go is factorGo in float32.
func factor32Go(x []float32, n int) int {
	for j := range n {
		xj := x[j*base:][:base]
		for p := range j {
			xp := x[p*base:][:base]
			v := xp[j]
			for i := range xj {
				xj[i] = mulAdd32(-xp[i], v, xj[i])
			}
		}
		if !(xj[j] > 0) {
			return j
		}
		d := float32(math.Sqrt(float64(xj[j]))) // which is the root rounded once
		for i := range xj {
			xj[i] /= d
		}
		xj[j] = d
	}
	return n
}

// solve32Go is solveGo in float32.
func solve32Go(x, l []float32, ls, n int) {
	for j := range n {
		xj := x[j*base:][:base]
		for p, v := range l[j*ls:][:j] {
			xp := x[p*base:][:base]
			for i := range xj {
				xj[i] = mulAdd32(-xp[i], v, xj[i])
			}
		}
		d := l[j*ls+j]
		for i := range xj {
			xj[i] /= d
		}
	}
}

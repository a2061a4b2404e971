package blas

import "math"

// Scores stores X·Wᵀ in dst (n×k) for the n rows of x (n×d) and the k rows of w
// (k×d), which is not packed: for few outputs, and weights that change between
// calls. A product is 16 chains of fused multiply-adds from 0 on, chain l over
// the elements l, l+16, …, with zeros after the row up to a multiple of 16; the
// chains are added pairwise at distances 8, 4, 2, 1.
func Scores(dst, x []float32, n, d int, w []float32, k, threads int) {
	checkThin(n, d, k, len(x))
	if len(w) < k*d {
		panic("blas: weights shorter than k×d")
	}
	if len(dst) < n*k {
		panic("blas: destination too short")
	}
	if n == 0 || k == 0 {
		return
	}
	l := active()
	parallel(threads, (n+scoreRun-1)/scoreRun, func(item int, _ *scratch) {
		i := item * scoreRun
		l.scores(dst[i*k:], k, x[i*d:], d, w, d, d, min(scoreRun, n-i), k)
	})
}

// scoreRun is the number of rows for which the weights come from afar once, and
// which stay in the cache.
const scoreRun = 24

// Gradient adds Cᵀ·X to g (k×d) for the n rows of c (n×k) and of x (n×d): the
// gradient of X·Wᵀ weighed by c. Each element is one chain of fused
// multiply-adds over the rows in order, which starts from g, so that rows may
// come in several calls.
func Gradient[T float32 | float64](g, c, x []T, n, d, k, threads int) {
	switch g := any(g).(type) {
	case []float32:
		gradientOf(active().gradient, g, any(c).([]float32), any(x).([]float32), n, d, k, threads)
	case []float64:
		gradientOf(active().gradient64, g, any(c).([]float64), any(x).([]float64), n, d, k, threads)
	}
}

// Gradient64 is Gradient with coefficients and sums in float64, which the
// elements of x are turned into.
func Gradient64(g, c []float64, x []float32, n, d, k, threads int) {
	gradientOf(active().gradientMixed, g, c, x, n, d, k, threads)
}

const (
	thinRows  = 32  // between two looks at the same sums
	thinCols  = 512 // of a work item; a multiple of 16
	thinCopy  = 12  // with at least this number of outputs, a copy of the rows pays
	thinPitch = thinCols + 16
)

func gradientOf[T, X real](kernel func(g []T, gs int, c []T, cs int, x []X, xs int, rows, cols, outs int),
	g, c []T, x []X, n, d, k, threads int) {
	checkThin(n, d, k, len(x))
	if len(c) < n*k {
		panic("blas: coefficients shorter than n×k")
	}
	if len(g) < k*d {
		panic("blas: destination too short")
	}
	if n == 0 || d == 0 || k == 0 {
		return
	}
	addThin(kernel, g, d, c, x, d, n, d, k, threads)
}

// addThin is gradientOf for rows of g and x that are gs and xs apart.
func addThin[T, X real](kernel func(g []T, gs int, c []T, cs int, x []X, xs int, rows, cols, outs int),
	g []T, gs int, c []T, x []X, xs, n, d, k, threads int) {
	parallel(threads, (d+thinCols-1)/thinCols, func(item int, s *scratch) {
		from := item * thinCols
		to := min(from+thinCols, d)
		whole := to - to%lanes
		if whole > from {
			for i := 0; i < n; i += thinRows {
				rows := min(thinRows, n-i)
				xi, pitch := x[i*xs+from:], xs
				if k >= thinCopy {
					// Read often: rows of a large matrix lie a power of two apart, and would share
					// a few lines of the cache.
					_, room := tilesOf[X](s)
					copied := Grow(room, thinRows*thinPitch)
					for r := range rows {
						copy(copied[r*thinPitch:], xi[r*xs:][:whole-from])
					}
					xi, pitch = copied, thinPitch
				}
				kernel(g[from:], gs, c[i*k:], k, xi, pitch, rows, whole-from, k)
			}
		}
		if rest := to - whole; rest > 0 {
			// The last columns, with zeros beside them.
			ge, xe := make([]T, k*lanes), make([]X, thinRows*lanes)
			for o := range k {
				copy(ge[o*lanes:], g[o*gs+whole:][:rest])
			}
			for i := 0; i < n; i += thinRows {
				rows := min(thinRows, n-i)
				for r := range rows {
					copy(xe[r*lanes:], x[(i+r)*xs+whole:][:rest])
				}
				kernel(ge, lanes, c[i*k:], k, xe, lanes, rows, lanes, k)
			}
			for o := range k {
				copy(g[o*gs+whole:][:rest], ge[o*lanes:])
			}
		}
	})
}

func checkThin(n, d, k, have int) {
	if n < 0 || d < 0 || k < 0 {
		panic("blas: negative size")
	}
	if have < n*d {
		panic("blas: source too short")
	}
}

// scoresGo is the twin of the kernels for scores.
func scoresGo(dst []float32, ds int, x []float32, xs int, w []float32, ws int, n, rows, outs int) {
	for i := range rows {
		xi := x[i*xs:][:n]
		for o := range outs {
			wo := w[o*ws:][:n]
			var s [lanes]float32
			for p := 0; p < n; p += lanes {
				for l := range s {
					if p+l < n {
						s[l] = mulAdd32(wo[p+l], xi[p+l], s[l])
					} else {
						s[l] += 0 // as by a product of zeros: -0 becomes 0
					}
				}
			}
			for h := lanes / 2; h > 0; h /= 2 {
				for l := range h {
					s[l] += s[l+h]
				}
			}
			dst[i*ds+o] = s[0]
		}
	}
}

func gradientGo(g []float32, gs int, c []float32, cs int, x []float32, xs int, rows, cols, outs int) {
	for o := range outs {
		to := g[o*gs:][:cols]
		for i := range rows {
			axpyGo(c[i*cs+o], x[i*xs:][:cols], to)
		}
	}
}

func gradient64Go[X real](g []float64, gs int, c []float64, cs int, x []X, xs int, rows, cols, outs int) {
	for o := range outs {
		to := g[o*gs:][:cols]
		for i := range rows {
			v := c[i*cs+o]
			for j, f := range x[i*xs:][:cols] {
				to[j] = math.FMA(v, float64(f), to[j])
			}
		}
	}
}

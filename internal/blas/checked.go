//go:build (amd64 || arm64) && !purego

package blas

import "unsafe"

// The functions of this file wrap kernels in assembly for an instruction set: they check slices, and compute
// the rest that does not fill the vectors of a kernel.

// denseBy returns the factorisation's kernels, with checks before them. columns takes step columns at a time.
func denseBy[T real](mr, nr int, tile func(c *T, cs int, a *T, as int, b *T, k int), solve func(x, l *T, ls, n int),
	factor func(x *T, n int) int, step int, columns func(dst *T, ds int, src *T, ss, steps int)) dense[T] {
	return dense[T]{
		mr: mr, nr: nr,
		tile: func(c []T, cs int, a []T, as int, b []T, k int) {
			reach(c, mr, cs, nr)
			reach(a, mr, as, k)
			reach(b, k, nr, nr)
			tile(ptr(c), cs, ptr(a), as, ptr(b), k)
		},
		solve: func(x, l []T, ls, n int) {
			reach(x, n, base, base)
			reach(l, n, ls, n)
			solve(ptr(x), ptr(l), ls, n)
		},
		factor: func(x []T, n int) int {
			reach(x, n, base, base)
			return factor(ptr(x), n)
		},
		columns: func(dst []T, ds int, src []T, ss, n int) int {
			if n < step {
				return 0
			}
			n -= n % step
			reach(dst, n, ds, 8)
			reach(src, 8, ss, n)
			columns(ptr(dst), ds, ptr(src), ss, n/step)
			return n
		},
	}
}

// expBy replaces elements by kernel, in vectors of that width, and those that it leaves out one by one.
func expBy(x []float64, width int, kernel func(x *float64, vectors int) int) {
	for len(x) >= width {
		done := kernel(ptr(x), len(x)/width) * width
		x = x[done:]
		if len(x) >= width {
			expGo(x[:width])
			x = x[width:]
		}
	}
	expGo(x)
}

// differencesBy computes the rows by kernel, four at a time, and the others by rest.
func differencesBy(kernel func(dst *float64, a, x *float32, xs, steps, fours int),
	rest func(dst []float64, a, x []float32, xs int)) func(dst []float64, a, x []float32, xs int) {
	return func(dst []float64, a, x []float32, xs int) {
		if fours := len(dst) / 16; fours > 0 && len(a) > 0 {
			reach(x, 4*fours, xs, len(a))
			kernel(ptr(dst), ptr(a), ptr(x), xs, len(a)/4, fours)
			dst, x = dst[16*fours:], x[min(len(x), 4*fours*xs):]
		}
		rest(dst, a, x, xs)
	}
}

func slideBy(kernel func(x *float32, xs, shift, rows, vecs int)) func(x []float32, xs, shift, rows, vecs int) {
	return func(x []float32, xs, shift, rows, vecs int) {
		reach(x, rows, xs, vecs*lanes+shift)
		kernel(ptr(x), xs, shift, rows, vecs)
	}
}

func floatsBy(kernel func(dst *float32, src *int16, steps int)) func(dst []float32, src []int16) {
	return func(dst []float32, src []int16) {
		whole := len(src) &^ 15
		if whole > 0 {
			reach(dst, 1, 0, whole)
			kernel(ptr(dst), ptr(src), whole/16)
		}
		floatsGo(dst[whole:], src[whole:])
	}
}

func classesBy(kernel func(acc *int32, panel *int8, class *int32, quads int)) func(acc []int32, panel []int8,
	class []int32) {
	return func(acc []int32, panel []int8, class []int32) {
		if quads := len(class) / 4; quads > 0 {
			reach(panel, quads, 64, 64)
			kernel(ptr(acc), ptr(panel), ptr(class), quads)
		}
	}
}

func cosBytesBy(kernel func(dst *int8, src *float32, ss, quads int)) func(dst []int8, src []float32, ss, quads int) {
	return func(dst []int8, src []float32, ss, quads int) {
		reach(dst, quads, 64, 64)
		reach(src, 4*quads, ss, lanes)
		kernel(ptr(dst), ptr(src), ss, quads)
	}
}

func cosSinBytesBy(kernel func(cos, sin *int8, src *float32, ss, quads int)) func(cos, sin []int8, src []float32,
	ss, quads int) {
	return func(cos, sin []int8, src []float32, ss, quads int) {
		reach(cos, quads, 64, 64)
		reach(sin, quads, 64, 64)
		reach(src, 4*quads, ss, lanes)
		kernel(ptr(cos), ptr(sin), ptr(src), ss, quads)
	}
}

func quantizeBy(kernel func(dst *int8, src *float32, ss, quads int, f float32) int64) func(dst []int8, src []float32,
	ss, quads int, f float32) int64 {
	return func(dst []int8, src []float32, ss, quads int, f float32) int64 {
		reach(dst, quads, 64, 64)
		reach(src, 4*quads, ss, lanes)
		return kernel(ptr(dst), ptr(src), ss, quads, f)
	}
}

func splitBy(kernel func(low, high *int8, src *float32, ss, quads int, f float32) int64) func(low, high []int8,
	src []float32, ss, quads int, f float32) int64 {
	return func(low, high []int8, src []float32, ss, quads int, f float32) int64 {
		reach(low, quads, 64, 64)
		reach(high, quads, 64, 64)
		reach(src, 4*quads, ss, lanes)
		return kernel(ptr(low), ptr(high), ptr(src), ss, quads, f)
	}
}

// targetsBy adds the products with four targets at a time, and with the last ones by one.
func targetsBy(four, one func(acc *int32, panel *int8, y *int16, ys, quads int)) func(acc []int32, panel []int8,
	y []int16, ys, quads, k int) {
	return func(acc []int32, panel []int8, y []int16, ys, quads, k int) {
		reach(acc, k, lanes, lanes)
		reach(panel, quads, 64, 64)
		reach(y, quads, ys, 4*k)
		t := 0
		for ; t+4 <= k; t += 4 {
			four(ptr(acc[t*lanes:]), ptr(panel), ptr(y[4*t:]), ys, quads)
		}
		for ; t < k; t++ {
			one(ptr(acc[t*lanes:]), ptr(panel), ptr(y[4*t:]), ys, quads)
		}
	}
}

// affineTail computes the elements after the last multiple of 16, and returns this multiple.
func affineTail(dst, x, s, b []float32) int {
	whole := len(s) &^ (lanes - 1)
	reach(dst, 1, 0, len(s))
	reach(x, 1, 0, len(s))
	if b == nil {
		affineGo(dst[whole:], x[whole:], s[whole:], nil)
	} else {
		affineGo(dst[whole:], x[whole:], s[whole:], b[whole:])
	}
	return whole
}

func ptr[T any](s []T) *T { return unsafe.SliceData(s) }

// reach panics unless there are rows, and s has them: n elements, stride apart.
func reach[T any](s []T, rows, stride, n int) {
	if rows <= 0 || n > 0 && len(s) < (rows-1)*stride+n {
		panic("blas: a kernel would leave its slice")
	}
}

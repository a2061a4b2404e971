//go:build (amd64 || arm64) && !purego

package blas

import "unsafe"

// The functions of this file make functions of a level from kernels in assembly: they check
// slices, choose between kernels and do what kernels leave.

type mulKernel func(c *float32, cs int, init *float32, is int, x *float32, xs int, w *float32, ws int, k int, tiles int)

// mulBy is mul by kernels for tiles of high rows and of one.
func mulBy(tile, single mulKernel, high int, c []float32, cs int, init []float32, is int, x []float32, xs int,
	w []float32, ws int, k, rows, vecs int) {
	reach(c, rows, cs, vecs*lanes)
	reach(init, rows, is, vecs*lanes)
	reach(x, rows, xs, k)
	reach(w, vecs, ws, k*lanes)
	whole := rows / high * high
	if whole > 0 {
		tile(ptr(c), cs, ptr(init), is, ptr(x), xs, ptr(w), ws, k, whole/high)
	}
	if whole < rows {
		single(ptr(c[whole*cs:]), cs, ptr(init[whole*is:]), is, ptr(x[whole*xs:]), xs, ptr(w), ws, k, rows-whole)
	}
}

func cosBy(kernel, stream func(dst *float32, ds int, src *float32, ss int, rows, vecs int, scale float32),
) func([]float32, int, []float32, int, int, int, float32, bool) {
	return func(dst []float32, ds int, src []float32, ss int, rows, vecs int, scale float32, past bool) {
		reach(dst, rows, ds, vecs*lanes)
		reach(src, rows, ss, vecs*lanes)
		f := kernel
		if past && wholeLines(dst, ds) {
			f = stream
		}
		f(ptr(dst), ds, ptr(src), ss, rows, vecs, scale)
	}
}

func cosSinBy(kernel, stream func(dst *float32, ds, sin int, src *float32, ss int, rows, vecs int, scale float32),
) func([]float32, int, int, []float32, int, int, int, float32, bool) {
	return func(dst []float32, ds, sin int, src []float32, ss int, rows, vecs int, scale float32, past bool) {
		reach(dst, rows, ds, sin+vecs*lanes)
		reach(src, rows, ss, vecs*lanes)
		f := kernel
		if past && wholeLines(dst, ds) && sin%lanes == 0 {
			f = stream
		}
		f(ptr(dst), ds, sin, ptr(src), ss, rows, vecs, scale)
	}
}

func cosBytesBy(kernel func(cos *int8, src *float32, ss, quads int)) func([]int8, []float32, int, int) {
	return func(dst []int8, src []float32, ss, quads int) {
		reach(dst, quads, 64, 64)
		reach(src, 4*quads, ss, lanes)
		kernel(ptr(dst), ptr(src), ss, quads)
	}
}

func cosSinBytesBy(kernel func(cos, sin *int8, src *float32, ss, quads int)) func(_, _ []int8, _ []float32, _, _ int) {
	return func(cos, sin []int8, src []float32, ss, quads int) {
		reach(cos, quads, 64, 64)
		reach(sin, quads, 64, 64)
		reach(src, 4*quads, ss, lanes)
		kernel(ptr(cos), ptr(sin), ptr(src), ss, quads)
	}
}

func quantizeBy(kernel func(dst *int8, src *float32, ss, quads int, f float32) int64,
) func([]int8, []float32, int, int, float32) int64 {
	return func(dst []int8, src []float32, ss, quads int, f float32) int64 {
		reach(dst, quads, 64, 64)
		reach(src, 4*quads, ss, lanes)
		return kernel(ptr(dst), ptr(src), ss, quads, f)
	}
}

func splitBy(kernel func(low, high *int8, src *float32, ss, quads int, f float32) int64,
) func(_, _ []int8, _ []float32, _, _ int, _ float32) int64 {
	return func(low, high []int8, src []float32, ss, quads int, f float32) int64 {
		reach(low, quads, 64, 64)
		reach(high, quads, 64, 64)
		reach(src, 4*quads, ss, lanes)
		return kernel(ptr(low), ptr(high), ptr(src), ss, quads, f)
	}
}

// expBy replaces elements by kernel, in vectors of that width, and those that it leaves out one by one.
func expBy(width int, kernel func(x *float64, vectors int) int) func(x []float64) {
	return func(x []float64) {
		for len(x) >= width {
			done := kernel(ptr(x), len(x)/width) * width
			if x = x[done:]; len(x) >= width {
				expGo(x[:width])
				x = x[width:]
			}
		}
		expGo(x)
	}
}

func classesBy(kernel func(acc *int32, panel *int8, class *int32, quads int)) func([]int32, []int8, []int32) {
	return func(acc []int32, panel []int8, class []int32) {
		quads := len(class) / 4
		if quads == 0 {
			return
		}
		reach(panel, quads, 64, 64)
		kernel(ptr(acc), ptr(panel), ptr(class), quads)
	}
}

// targetsBy is targets by kernels for four targets and for one.
func targetsBy(four, one func(acc *int32, panel *int8, y *int16, ys, quads int),
) func([]int32, []int8, []int16, int, int, int) {
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

// dotsBy is dots by kernels for four vectors and for one.
func dotsBy(four, one func(dst, a, b *float64, bs, n int)) func(_, _, _ []float64, _ int) {
	return func(dst, a, b []float64, bs int) {
		reach(b, len(dst), bs, len(a))
		c := 0
		for ; c+4 <= len(dst); c += 4 {
			four(ptr(dst[c:]), ptr(a), ptr(b[c*bs:]), bs, len(a))
		}
		for ; c < len(dst); c++ {
			one(ptr(dst[c:]), ptr(a), ptr(b[c*bs:]), bs, len(a))
		}
	}
}

// hadamardBy is hadamard by a kernel for blocks of elements, and those for two, four and eight
// vectors of so many.
func hadamardBy(block, vector int, blocks func(x *float32, blocks int), two, four, eight func(x *float32, h, vecs int),
) func([]float32) {
	return func(x []float32) {
		if len(x) < block {
			hadamardGo(x)
			return
		}
		blocks(ptr(x), len(x)/block)
		passes(x, block, func(x []float32, h, factor int) {
			reach(x, factor, h, h)
			switch factor {
			case 2:
				two(ptr(x), h, h/vector)
			case 4:
				four(ptr(x), h, h/vector)
			case 8:
				eight(ptr(x), h, h/vector)
			}
		})
	}
}

// affineBy is affine by a kernel for whole 16 elements.
func affineBy(kernel func(dst, x, s, b *float32, vecs int)) func(_, _, _, _ []float32) {
	return func(dst, x, s, b []float32) {
		whole := len(s) &^ (lanes - 1)
		reach(dst, 1, 0, len(s))
		reach(x, 1, 0, len(s))
		rest := b
		if b != nil {
			rest = b[whole:]
		}
		affineGo(dst[whole:], x[whole:], s[whole:], rest)
		if whole > 0 {
			kernel(ptr(dst), ptr(x), ptr(s), ptr(b), whole/lanes)
		}
	}
}

func slideBy(kernel func(x *float32, xs, shift, rows, vecs int)) func([]float32, int, int, int, int) {
	return func(x []float32, xs, shift, rows, vecs int) {
		reach(x, rows, xs, vecs*lanes+shift)
		kernel(ptr(x), xs, shift, rows, vecs)
	}
}

// floatsBy is floats by a kernel for whole 16 numbers.
func floatsBy(kernel func(dst *float32, src *int16, steps int)) func([]float32, []int16) {
	return func(dst []float32, src []int16) {
		whole := len(src) &^ 15
		if whole > 0 {
			reach(dst, 1, 0, whole)
			kernel(ptr(dst), ptr(src), whole/16)
		}
		floatsGo(dst[whole:], src[whole:])
	}
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

// denseBy returns the factorisation's kernels, with checks before them. columns takes step columns
// at a time.
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

func ptr[T any](s []T) *T { return unsafe.SliceData(s) }

// reach panics unless there are rows, and s has them: n elements, stride apart.
func reach[T any](s []T, rows, stride, n int) {
	if rows <= 0 || n > 0 && len(s) < (rows-1)*stride+n {
		panic("blas: a kernel would leave its slice")
	}
}

// wholeLines tells whether the rows of dst, ds apart, begin with a cache line, as
// stores past the caches need.
func wholeLines(dst []float32, ds int) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(dst)))%64 == 0 && ds%lanes == 0
}

package blas

import (
	"fmt"
	"testing"
)

func TestScoresMatchTheReference(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 7, 23, 24, 31} {
		for _, d := range []int{0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100} {
			for _, k := range []int{1, 2, 3, 4, 5, 6, 7, 10} {
				r := random(uint64(n*d*k + n))
				x, checkX := guarded[float32](t, n*d)
				w, checkW := guarded[float32](t, k*d)
				normal(r, x)
				normal(r, w)
				want := make([]float32, n*k)
				scoresGo(want, k, x, d, w, d, d, n, k)
				eachISA(t, func(t *testing.T) {
					for _, threads := range []int{1, 3} {
						dst, check := guarded[float32](t, n*k)
						Scores(dst, x, n, d, w, k, threads)
						mustSame32(t, fmt.Sprintf("%d rows of %d, %d outputs", n, d, k), dst, want)
						check()
					}
				})
				checkX()
				checkW()
			}
		}
	}
}

func TestGradientsMatchTheReference(t *testing.T) {
	for _, n := range []int{1, 3, 31, 32, 33, 70} {
		for _, d := range []int{1, 15, 16, 17, 63, 64, 65, 100, thinCols - 1, thinCols + 37} {
			for _, k := range []int{1, 2, 3, 4, 7, 10} {
				if n*d*k > 100_000 && n != 33 {
					continue
				}
				r := random(uint64(n*d*k + n))
				x, checkX := guarded[float32](t, n*d)
				c, checkC := guarded[float32](t, n*k)
				c64, checkC64 := guarded[float64](t, n*k)
				normal(r, x)
				normal(r, c)
				normal(r, c64)
				from, from64 := normals[float32](r, k*d), normals[float64](r, k*d)
				want, want64 := append([]float32(nil), from...), append([]float64(nil), from64...)
				gradientGo(want, d, c, k, x, d, n, d, k)
				gradient64Go(want64, d, c64, k, x, d, n, d, k)
				wide, checkWide := guarded[float64](t, n*d)
				for i, v := range x {
					wide[i] = float64(v)
				}
				what := fmt.Sprintf("%d rows of %d, %d outputs", n, d, k)
				eachISA(t, func(t *testing.T) {
					for _, threads := range []int{1, 3} {
						g, check := guarded[float32](t, k*d)
						copy(g, from)
						Gradient(g, c, x, n, d, k, threads)
						mustSame32(t, what, g, want)
						check()
						g64, check64 := guarded[float64](t, k*d)
						copy(g64, from64)
						Gradient64(g64, c64, x, n, d, k, threads)
						mustSame64(t, what+" in float64", g64, want64)
						check64()
						copy(g64, from64)
						Gradient(g64, c64, wide, n, d, k, threads)
						mustSame64(t, what+" all in float64", g64, want64)
						check64()
					}
				})
				checkX()
				checkC()
				checkC64()
				checkWide()
			}
		}
	}
}

func TestThinProductsMatchPlainProducts(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		const n, d, k = 37, 83, 7
		x, w, c := make([]float32, n*d), make([]float32, k*d), make([]float32, n*k)
		c64 := make([]float64, n*k)
		for i := range x {
			x[i] = float32(i%11 - 5)
		}
		for i := range w {
			w[i] = float32(i%7 - 3)
		}
		for i := range c {
			c[i] = float32(i%5 - 1)
			c64[i] = float64(c[i])
		}
		scores, g, g64 := make([]float32, n*k), make([]float32, k*d), make([]float64, k*d)
		Scores(scores, x, n, d, w, k, 1)
		Gradient(g, c, x, n, d, k, 1)
		Gradient64(g64, c64, x, n, d, k, 1)
		wantScores, wantG := make([]float32, n*k), make([]float32, k*d)
		for i := range n {
			for o := range k {
				for j := range d {
					wantScores[i*k+o] += x[i*d+j] * w[o*d+j]
					wantG[o*d+j] += c[i*k+o] * x[i*d+j]
				}
			}
		}
		mustSame32(t, "scores", scores, wantScores)
		mustSame32(t, "gradient", g, wantG)
		for i, v := range wantG {
			if g64[i] != float64(v) {
				t.Fatalf("gradient in float64: element %d is %g, want %g", i, g64[i], v)
			}
		}
	})
}

// The rows of a gradient may come in several calls.
func TestGradientAddsUpOverCalls(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		const n, d, k = 50, 40, 3
		r := random(5)
		x, c := normals[float32](r, n*d), normals[float32](r, n*k)
		whole, parts := make([]float32, k*d), make([]float32, k*d)
		Gradient(whole, c, x, n, d, k, 1)
		const at = 19
		Gradient(parts, c, x, at, d, k, 1)
		Gradient(parts, c[at*k:], x[at*d:], n-at, d, k, 1)
		mustSame32(t, "in two calls", parts, whole)
	})
}

func TestThinProductsPanicOnShortSlices(t *testing.T) {
	f := func(n int) []float32 { return make([]float32, n) }
	mustPanic(t, "short rows", func() { Scores(f(6), f(5), 2, 3, f(9), 3, 1) })
	mustPanic(t, "short weights", func() { Scores(f(6), f(6), 2, 3, f(8), 3, 1) })
	mustPanic(t, "short scores", func() { Scores(f(5), f(6), 2, 3, f(9), 3, 1) })
	mustPanic(t, "short coefficients", func() { Gradient(f(9), f(5), f(6), 2, 3, 3, 1) })
	mustPanic(t, "short gradient", func() { Gradient(f(8), f(6), f(6), 2, 3, 3, 1) })
	mustPanic(t, "negative size", func() { Gradient(f(8), f(6), f(6), -2, 3, -3, 1) })
}

func BenchmarkThin(b *testing.B) {
	const n = 1000
	for _, d := range []int{100, 4096, 10_000} {
		for _, k := range []int{1, 10, 64} {
			r := random(1)
			x, w, c := normals[float32](r, n*d), normals[float32](r, k*d), normals[float32](r, n*k)
			c64, g64 := normals[float64](r, n*k), make([]float64, k*d)
			for name, f := range map[string]func(){
				"scores":     func() { Scores(c, x, n, d, w, k, 1) },
				"gradient":   func() { clear(w); Gradient(w, c, x, n, d, k, 1) },
				"gradient64": func() { clear(g64); Gradient64(g64, c64, x, n, d, k, 1) },
			} {
				b.Run(fmt.Sprintf("%s/d=%d/k=%d", name, d, k), func(b *testing.B) {
					for b.Loop() {
						f()
					}
					b.ReportMetric(2e-9*n*float64(d)*float64(k)/b.Elapsed().Seconds()*float64(b.N), "GF/s")
				})
			}
		}
	}
}

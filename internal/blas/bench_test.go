package blas

import (
	"fmt"
	"testing"
	"time"
)

// Figures of one thread, in 10⁹ operations per second of CPU time (wall-clock
// time where the system has no clock for that); run with
//
//	go test -run - -bench . -cpu 1 ./internal/blas
//
// and BOCHNER_CPU=avx2 or go for the other instruction sets.

// measure reports how many times 10⁹ of the call's ops pass in a second. What
// prepare does before each call, if it is given, does not count.
func measure(b *testing.B, unit string, ops float64, prepare, call func()) {
	b.Helper()
	if prepare != nil {
		prepare()
	}
	call()
	var used time.Duration
	start := clock()
	for b.Loop() {
		if prepare != nil {
			before := clock()
			prepare()
			used -= clock() - before
		}
		call()
	}
	used += clock() - start
	b.ReportMetric(ops*float64(b.N)/used.Seconds()/1e9, unit)
}

var mapShapes = []struct{ n, in, out int }{
	{1, 784, 4096}, {16, 20, 256}, {1000, 20, 4096}, {1000, 100, 4096}, {1000, 784, 10}, {1000, 784, 4096}, {1000, 1024,
		4096}, {1000, 3000, 4096},
}

func benchmarkMap(b *testing.B, f func(p *Weights, x []float32, n int) func()) {
	for _, s := range mapShapes {
		b.Run(fmt.Sprintf("%dx%dx%d", s.n, s.in, s.out), func(b *testing.B) {
			r := random(1)
			w := make([]float32, s.in*s.out)
			for i := range w {
				w[i] = float32(r.NormFloat64())
			}
			x := make([]float32, s.n*s.in)
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
			call := f(Pack(w, nil, s.out, s.in), x, s.n)
			measure(b, "GF/s", 2*float64(s.n)*float64(s.in)*float64(s.out), nil, call)
		})
	}
}

func filled(n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

func BenchmarkMul(b *testing.B) {
	benchmarkMap(b, func(p *Weights, x []float32, n int) func() {
		dst := filled(n * p.out)
		return func() { p.Mul(dst, x, n, 1) }
	})
}

func BenchmarkCos(b *testing.B) {
	benchmarkMap(b, func(p *Weights, x []float32, n int) func() {
		dst := filled(n * p.out)
		return func() { p.Cos(dst, x, n, 0.1, 1) }
	})
}

func BenchmarkCosSin(b *testing.B) {
	benchmarkMap(b, func(p *Weights, x []float32, n int) func() {
		dst := filled(2 * n * p.out)
		return func() { p.CosSin(dst, x, n, 0.1, 1) }
	})
}

func BenchmarkCosBytes(b *testing.B) {
	benchmarkMap(b, func(p *Weights, x []float32, n int) func() {
		dst := NewGrid(p.out, MaxByte)
		return func() { p.CosBytes(dst, x, n, 1) }
	})
}

func BenchmarkCosSinBytes(b *testing.B) {
	benchmarkMap(b, func(p *Weights, x []float32, n int) func() {
		dst := NewGrid(2*p.out, MaxByte)
		return func() { p.CosSinBytes(dst, x, n, 1) }
	})
}

func BenchmarkQuantize(b *testing.B) {
	for _, d := range []int{100, 4096} {
		b.Run(fmt.Sprint(d), func(b *testing.B) {
			z, dst := filled(MaxRows*d), NewGrid(d, MaxByte)
			measure(b, "G/s", MaxRows*float64(d), nil, func() { dst.Quantize(z, MaxRows, 3, 1) })
		})
	}
}

func BenchmarkGram(b *testing.B) {
	for _, d := range []int{100, 384, 1024, 4096, 8192} {
		b.Run(fmt.Sprint(d), func(b *testing.B) {
			z, _ := randomBytes(b, random(1), MaxRows, d)
			tiles := NewTiles(d)
			measure(b, "GOP/s", MaxRows*float64(d)*float64(d+1), nil, func() { Gram(tiles, z, 1) })
		})
	}
}

func BenchmarkClassSums(b *testing.B) {
	for _, k := range []int{2, 10, 1000} {
		b.Run(fmt.Sprint("4096x", k), func(b *testing.B) {
			const d = 4096
			z, _ := randomBytes(b, random(1), MaxRows, d)
			class := make([]int32, MaxRows)
			for i := range class {
				class[i] = int32(i * 7 % k)
			}
			r := make([]float64, d*k)
			measure(b, "G/s", MaxRows*d, nil, func() { ClassSums(r, z, class, k, 1) })
		})
	}
}

func BenchmarkTargets(b *testing.B) {
	for _, k := range []int{1, 10, 100} {
		b.Run(fmt.Sprint("4096x", k), func(b *testing.B) {
			const d = 4096
			z, _ := randomBytes(b, random(1), MaxRows, d)
			y := make([]int32, MaxRows*k)
			for i := range y {
				y[i] = int32(i%60000 - 30000)
			}
			r := make([]float64, d*k)
			measure(b, "GOP/s", 2*MaxRows*d*float64(k), nil, func() { Targets(r, z, y, k, 1) })
		})
	}
}

func BenchmarkCholesky(b *testing.B) {
	for _, n := range []int{64, 256, 1000, 1024, 2048, 4096} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			from := definite(n, 1)
			a := make([]float64, n*n)
			measure(b, "GF/s", float64(n)*float64(n)*float64(n)/3, func() { copy(a, from) }, func() { Cholesky(a, n, 1) })
		})
	}
}

func BenchmarkCholeskyTiles(b *testing.B) {
	for _, n := range []int{1000, 2400, 4096} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%d on %d", n, threads), func(b *testing.B) {
				from, tiles := NewTiles(n), NewTiles(n)
				square := definite(n, 1)
				for i := range n {
					for j := range i + 1 {
						ti, tj := i/TileDim, j/TileDim
						from[ti*(ti+1)/2+tj][i%TileDim*TileRows(n, tj)+j%TileDim] = square[i*n+j]
					}
				}
				prepare := func() {
					for t := range tiles {
						copy(tiles[t], from[t])
					}
				}
				measure(b, "GF/s", float64(n)*float64(n)*float64(n)/3, prepare, func() { CholeskyTiles(tiles, n, threads) })
			})
		}
	}
}

func BenchmarkCholeskySolve(b *testing.B) {
	const n = 2048
	l := definite(n, 1)
	Cholesky(l, n, 1)
	for _, k := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("%dx%d", n, k), func(b *testing.B) {
			x := make([]float64, n*k)
			prepare := func() {
				for i := range x {
					x[i] = 1
				}
			}
			measure(b, "GF/s", 2*n*n*float64(k), prepare, func() { CholeskySolve(l, n, x, k, 1) })
		})
	}
}

func BenchmarkDot(b *testing.B) {
	for _, n := range []int{20, 784, 10000, 10000000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x, y := filled(n), filled(n)
			measure(b, "GF/s", 2*float64(n), nil, func() { Dot(x, y) })
		})
	}
}

func BenchmarkAxpy(b *testing.B) {
	for _, n := range []int{20, 784, 10000, 10000000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x, y := filled(n), filled(n)
			measure(b, "GF/s", 2*float64(n), nil, func() { Axpy(1e-9, x, y) })
		})
	}
}

func BenchmarkMax(b *testing.B) {
	for _, q := range []int{2, 4, 5} {
		b.Run(fmt.Sprint("q=", q), func(b *testing.B) {
			benchmarkMap(b, func(p *Weights, x []float32, n int) func() {
				if p.out%q != 0 {
					// Weights of this q only.
					w := filled(p.in * (p.out / q * q))
					p = Pack(w, nil, p.out/q*q, p.in)
				}
				dst := filled(n * p.out / q)
				return func() { p.Max(dst, x, n, q, 1) }
			})
		})
	}
}

func BenchmarkHadamard(b *testing.B) {
	for _, d := range []int{64, 256, 1024, 4096, 16384} {
		b.Run(fmt.Sprint(d), func(b *testing.B) {
			const n = 64
			x := make([]float32, n*d)
			measure(b, "G/s", n*float64(d), nil, func() { Hadamard(x, n, d, 1) })
		})
	}
}

func BenchmarkAffine(b *testing.B) {
	x, s := filled(1024), filled(1024)
	measure(b, "G/s", 1024, nil, func() { Affine(x, x, s, s, 1) })
}

func BenchmarkCosTurns(b *testing.B) {
	x, dst := filled(1024), filled(1024)
	measure(b, "G/s", 1024, nil, func() { CosTurns(dst, x, 0.1) })
}

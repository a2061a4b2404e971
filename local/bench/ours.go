//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/blas/gonum"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/blas"
)

// The shapes of theirs.py.
const (
	mapRows  = 1000
	mapWidth = 4096
)

// work holds a function to time, call, and a function that runs before it and is not timed, prepare, which may be
// nil.
type work struct{ prepare, call func() }

// serve runs cases on request, as theirs.py does.
func serve(in io.Reader, out io.Writer, threads int) error {
	fmt.Fprintf(out, "{\"cores\":[%q],\"threads\":%d}\n", blas.Level(), threads)
	var w work
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var (
			name string
			n    int
		)
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "case "):
			if _, err := fmt.Sscanf(line, "case %s %d", &name, &n); err != nil {
				return fmt.Errorf("bench: line %q: %w", line, err)
			}
			set, ok := cases[name]
			if !ok {
				return fmt.Errorf("bench: unknown case %q", name)
			}
			w = work{} // the memory of the last case must be free
			w = set(n, threads)
			cpu, _ := w.timed(1)
			fmt.Fprintf(out, "ok %g\n", cpu.Seconds())
		case w.call == nil:
			return fmt.Errorf("bench: line %q before a case", line)
		default:
			if _, err := fmt.Sscanf(line, "run %d", &n); err != nil {
				return fmt.Errorf("bench: line %q: %w", line, err)
			}
			cpu, wall := w.timed(n)
			fmt.Fprintf(out, "%g %g\n", cpu.Seconds(), wall.Seconds())
		}
	}
	return lines.Err()
}

// timed returns the time of count calls, after one call to warm up.
func (w work) timed(count int) (cpu, wall time.Duration) {
	if w.prepare == nil {
		// Time all calls at once, because reading the clock costs as much as a short call.
		w.call()
		c, t := cpuTime(), time.Now()
		for range count {
			w.call()
		}
		return cpuTime() - c, time.Since(t)
	}
	for i := range count + 1 {
		w.prepare()
		c, t := cpuTime(), time.Now()
		w.call()
		if i > 0 {
			cpu += cpuTime() - c
			wall += time.Since(t)
		}
	}
	return cpu, wall
}

var cases = map[string]func(n, threads int) work{
	"fourier": func(d, threads int) work {
		m, x, dst := gaussian(d, fourier.Offset), normals(mapRows*d), ones[float32](mapRows*mapWidth)
		if threads > 1 {
			panic("bench: Apply runs on one thread")
		}
		return work{call: func() { m.Apply(dst, x, mapRows) }}
	},
	"gemm": func(d, threads int) work {
		w := blas.Pack(normals(mapWidth*d), nil, mapWidth, d)
		x, dst := normals(mapRows*d), ones[float32](mapRows*mapWidth)
		return work{call: func() { w.Mul(dst, x, mapRows, threads) }}
	},
	"gram": func(dim, threads int) work {
		z, tiles := blas.NewGrid(dim, blas.MaxByte), filledTiles(dim)
		z.Quantize(normals(blas.MaxRows*dim), blas.MaxRows, 3, threads)
		return work{call: func() { blas.Gram(tiles, z, threads) }}
	},
	"mapgram":        func(d, threads int) work { return mapGram(d, threads, fourier.Offset) },
	"mapgram-paired": func(d, threads int) work { return mapGram(d, threads, fourier.Paired) },
	"sorf":           structured,
	"cholesky": func(n, threads int) work {
		r := rand.New(rand.NewPCG(1, 1))
		from, a := make([]float64, n*n), ones[float64](n*n)
		for i := range from {
			from[i] = r.NormFloat64()
			if i/n == i%n {
				from[i] += 3 * float64(n)
			}
		}
		return work{func() { copy(a, from) }, func() {
			if _, ok := blas.Cholesky(a, n, threads); !ok {
				panic("bench: the matrix is positive definite")
			}
		}}
	},
	"dot":        vectors(func(_ int, x, y []float32) { blas.Dot(x, y) }),
	"axpy":       vectors(func(_ int, x, y []float32) { blas.Axpy(1e-9, x, y) }),
	"gonum-dot":  vectors(func(n int, x, y []float32) { gonum.Implementation{}.Sdot(n, x, 1, y, 1) }),
	"gonum-axpy": vectors(func(n int, x, y []float32) { gonum.Implementation{}.Saxpy(n, 1e-9, x, 1, y, 1) }),
	// As in learners, where several outputs learn from the rows of a batch: one axpy for each row and output.
	"axpys": batches(func(n, threads int, g, c, x []float32) {
		blas.Gradient(g, c, x, batchRows, n, batchOutputs, threads)
	}),
	// Search as many bytes as two vectors of n numbers have for a byte that does not occur.
	"read": func(n, _ int) work {
		x := make([]byte, 8*n)
		for i := range x {
			x[i] = byte(i) | 1
		}
		return work{call: func() {
			if bytes.IndexByte(x, 0) >= 0 {
				panic("bench: there is no zero")
			}
		}}
	},
	"gonum-axpys": batches(func(n, _ int, g, c, x []float32) {
		for i := range batchRows {
			for o := range batchOutputs {
				gonum.Implementation{}.Saxpy(n, c[i*batchOutputs+o], x[i*n:][:n], 1, g[o*n:][:n], 1)
			}
		}
	}),
}

// vectors is a case on two vectors of n numbers.
func vectors(call func(n int, x, y []float32)) func(n, threads int) work {
	return func(n, _ int) work {
		x, y := ones[float32](n), ones[float32](n)
		return work{call: func() { call(n, x, y) }}
	}
}

// batchRows is the size of a batch of a learner with ten classes.
const batchRows, batchOutputs = 32, 10

// batches is a case on the gradients g of a batch x of rows of n numbers, with coefficients c that hardly change sums.
func batches(call func(n, threads int, g, c, x []float32)) func(n, threads int) work {
	return func(n, threads int) work {
		x, g := ones[float32](batchRows*n), ones[float32](batchOutputs*n)
		c := slices.Repeat([]float32{1e-9}, batchRows*batchOutputs)
		return work{call: func() { call(n, threads, g, c, x) }}
	}
}

func mapGram(d, threads int, form fourier.Form) work {
	m, x := gaussian(d, form), normals(mapRows*d)
	z, tiles := features.NewGrid(mapWidth, features.ByteSteps), filledTiles(mapWidth)
	return work{call: func() {
		m.Quantize(z, x, mapRows, threads)
		blas.Gram(tiles, (*blas.Bytes)(z), threads)
	}}
}

// structured computes the frequencies of a structured map. Rows of d numbers are padded to a power of two and
// multiplied, for mapWidth frequencies at a time, by three sign flips and three Hadamard transforms (Yu et al.
// 2016, Orthogonal random features).
func structured(d, threads int) work {
	side := 1
	for side < d {
		side *= 2
	}
	x, dst, t := normals(mapRows*d), ones[float32](mapRows*mapWidth), make([]float32, side)
	signs := ones[float32](3 * mapWidth)
	for i := range signs {
		signs[i] -= float32(i * i % 3 % 2 * 2)
	}
	offsets := ones[float32](mapWidth)
	return work{call: func() {
		for i := range mapRows {
			for block := 0; block < mapWidth; block += side {
				s := signs[3*block:][:3*side]
				clear(t[copy(t, x[i*d:(i+1)*d]):])
				blas.Affine(t, t, s[:side], nil, 1)
				blas.Hadamard(t, 1, side, 1)
				blas.Affine(t, t, s[side:2*side], nil, 1)
				blas.Hadamard(t, 1, side, 1)
				blas.Affine(t, t, s[2*side:], nil, 1)
				blas.Hadamard(t, 1, side, 1)
				blas.Affine(t, t, s[:side], offsets[block:][:side], 1)
				blas.CosTurns(dst[i*mapWidth+block:][:side], t, 0.1)
			}
		}
	}}
}

func gaussian(d int, form fourier.Form) features.Gridded {
	m, err := fourier.Gaussian{In: d, Out: mapWidth, Width: 10, Seed: 1, Form: form}.New()
	if err != nil {
		panic(err)
	}
	return m.(features.Gridded)
}

func normals(n int) []float32 {
	r := rand.New(rand.NewPCG(2, 1))
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(r.NormFloat64())
	}
	return s
}

// ones returns memory that has been written to, because untouched pages all share one physical page.
func ones[T float32 | float64](n int) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

func filledTiles(d int) [][]float64 {
	tiles := blas.NewTiles(d)
	for _, t := range tiles {
		copy(t, ones[float64](len(t)))
	}
	return tiles
}

package solver

import (
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/testing/stattest"
)

// dense returns a symmetric matrix of whole numbers, and its kernel.
func dense(n int) ([][]float64, *kernel) {
	r := rand.New(rand.NewPCG(uint64(n), 5))
	k, rows := &kernel{n, blas.NewTiles(n)}, make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, n)
	}
	for i := range rows {
		for j := range i + 1 {
			rows[i][j] = float64(r.IntN(2001) - 1000)
			rows[j][i] = rows[i][j]
		}
		less := slices.Clone(rows[i])
		for j := range less {
			less[j] *= -1
		}
		k.subtract(less, i, 0, n, 1) // also what is above the diagonal, which is left out
	}
	return rows, k
}

// Blocks of a kernel equal blocks of the matrix, for every cut of its tiles.
func TestKernelBlocksEqualMatrixBlocks(t *testing.T) {
	for _, n := range []int{1, 7, blas.TileDim, 2*blas.TileDim + 5} {
		want, k := dense(n)
		for _, cut := range [][2]int{{0, n / 3}, {n / 3, n / 3}, {n / 3, n}, {n / 4, n - n/5}, {n / 2, n/2 + 1}} {
			first, end := cut[0], min(cut[1], n)
			var rest []int
			for i := range n {
				if i < first || i >= end {
					rest = append(rest, i)
				}
			}
			fold := &fold{first: first, n: end - first}
			part := &kernel{len(rest), blas.NewTiles(len(rest))}
			k.without(part, fold, 0.5, 3)
			for a, i := range rest {
				row := make([]float64, a+1)
				part.copyRow(row, a, 0, a+1)
				for b, j := range rest[:a+1] {
					v := want[i][j]
					if a == b {
						v += 0.5
					}
					if got := row[b]; got != v {
						t.Fatalf("%d rows without %d to %d: element %d, %d is %g, want %g", n, first, end, i, j, got, v)
					}
				}
			}
			across := slices.Repeat([]float64{math.NaN()}, (end-first)*len(rest))
			half := (end - first) / 2 // in two strips
			k.across(across, fold, first, first+half, 2)
			k.across(across[half*len(rest):], fold, first+half, end, 2)
			for i := range end - first {
				for b, j := range rest {
					if got := across[i*len(rest)+b]; got != want[first+i][j] {
						t.Fatalf("%d rows, across %d to %d: element %d, %d is %g, want %g", n, first, end, first+i, j, got,
							want[first+i][j])
					}
				}
			}
		}
	}
}

// Centring subtracts the weighted means of rows and columns, with the same bits for any number of threads.
func TestCentringSubtractsWeightedMeans(t *testing.T) {
	const n = 2*blas.TileDim + 5
	want, k := dense(n)
	_, other := dense(n)
	u := make([]float64, n)
	var weight float64
	for i := range u {
		u[i] = math.Sqrt(float64(i % 4))
		weight += u[i] * u[i]
	}
	k.centre(u, 1)
	other.centre(u, 3)
	for i := range k.tiles {
		if !slices.Equal(k.tiles[i], other.tiles[i]) {
			t.Fatalf("tile %d depends on the threads", i)
		}
	}
	mean, all := make([]float64, n), 0.0
	for i := range want {
		for j, v := range want[i] {
			mean[i] += u[j] * u[j] * v / weight
		}
		all += u[i] * u[i] * mean[i] / weight
	}
	for i := range n {
		row := make([]float64, i+1)
		k.copyRow(row, i, 0, i+1)
		for j, got := range row {
			if v := u[i] * u[j] * (want[i][j] - mean[i] - mean[j] + all); math.Abs(got-v) > 1e-9*(1+math.Abs(v)) {
				t.Fatalf("element %d, %d is %g, want %g", i, j, got, v)
			}
		}
	}
}

// Systems that are solved concurrently have the bits of systems solved one after the other.
func TestConcurrentSolvesMatchSingleSolves(t *testing.T) {
	const d, k, mu = 60, 2, 3e4
	s := draw(40, d, k, 4)
	var folds []Points
	for f := range 4 {
		folds = append(folds, s.points(10*f, 10*f+10-f)) // of several sizes
	}
	ridge, each := slices.Repeat([]float64{1}, d), []float64{1, 1}
	p := NewDual(folds, 27720, make([]float64, d), make([]float64, k), ridge, 2)
	type fit struct {
		Fit
		v []float64
	}
	solve := func(i int) fit {
		v := make([]float64, d*k)
		got, _, ok := p.Solve(v, each, mu*float64(1+i/4), i%4, 1+i%3)
		if !ok {
			t.Errorf("system %d is not positive definite", i)
		}
		return fit{got, v}
	}
	var want [24]fit
	for i := range want {
		want[i] = solve(i)
	}
	var all sync.WaitGroup
	for i := range want {
		all.Go(func() {
			if got := solve(i); got.Fit != want[i].Fit || !slices.Equal(got.v, want[i].v) {
				t.Errorf("system %d: %+v, alone %+v", i, got.Fit, want[i].Fit)
			}
		})
	}
	all.Wait()
}

// keepPools has scratch memory stay in its pools, for tests that count what is allocated.
func keepPools(t *testing.T) {
	if stattest.Racing {
		t.Skip("pools forget on purpose")
	}
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
}

// A second system reuses the workspace of the first: the memory that it takes besides grows with the rows, not
// with their squares, as KernelBytes assumes.
func TestSystemsShareOneBuffer(t *testing.T) {
	keepPools(t)
	const n, d, k = 1200, 8, 1
	s := draw(n, d, k, 5)
	p := NewDual([]Points{s.points(0, n/3), s.points(n/3, n)}, 27720, make([]float64, d), make([]float64, k),
		slices.Repeat([]float64{1}, d), 1)
	for fold := range 2 { // the second has more rows than the others
		taken := func() uint64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, _, ok := p.Solve(nil, []float64{1}, 3e4, fold, 1); !ok {
				t.Fatal("not positive definite")
			}
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		again := taken()
		for range 10 {
			again = min(again, taken())
		}
		if most := uint64(8 * 60 * n); again > most {
			t.Errorf("fold %d: another solution takes %d bytes more, want %d at most", fold, again, most)
		}
	}
}

// KernelBytes includes the right sides and weights of all systems that are solved concurrently.
func TestKernelBytesCoversAllOutputs(t *testing.T) {
	keepPools(t)
	const n, d, k, folds, threads = 200, 300, 400, 4, 4
	s := draw(n, d, k, 6)
	var rows []Points
	for f := range folds {
		rows = append(rows, s.points(n/folds*f, n/folds*(f+1)))
	}
	p := NewDual(rows, 27720, make([]float64, d), make([]float64, k), slices.Repeat([]float64{1}, d), 1)
	each := slices.Repeat([]float64{1}, k)
	taken := func() uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, _, ok := p.Solve(make([]float64, d*k), each, 3e4, 1, 1); !ok {
			t.Fatal("not positive definite")
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	least := taken()
	for range 10 {
		least = min(least, taken()) // without the memory that serves the next one
	}
	room, one := kernelBytes(n, d, k, folds, threads)-kernelBytes(n, d, 0, folds, threads), int64(least)
	one -= gradientSide*(4*gradientSide+8*k) + 8*n*k // of gradient
	if all := one * int64(AtOnce(n, threads)); room < all*17/20 || room > all*3/2 {
		t.Errorf("room for %d bytes, %d solutions take %d", room, AtOnce(n, threads), all)
	}
}

package blas

import (
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// symmetric returns the matrix with the elements (i, j), j ≤ i, of a (n×n).
func symmetric(a []float64, n, threads int) *Symmetric {
	s := NewSymmetric(n)
	s.Set(threads, func(run []float64, row, from int) { copy(run, a[row*n+from:]) })
	return s
}

// A product equals the product with the whole matrix, and has the same bits with every instruction set and for every
// number of threads. Nothing above the diagonal is read.
func TestSymmetricProductMatchesTheWholeMatrix(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 33, TileDim - 1, TileDim, TileDim + 1, 2*TileDim + 77} {
		a := normals[float64](random(uint64(n)), n*n)
		for i := range n {
			for j := i + 1; j < n; j++ {
				a[i*n+j] = math.NaN()
			}
		}
		for _, k := range []int{1, 3, atOnce, atOnce + 5} {
			if !campaign.Whole() && n > TileDim+1 && k > 3 {
				continue
			}
			x := normals[float64](random(7), k*n)
			var bits []float64
			eachISA(t, func(t *testing.T) {
				for _, threads := range []int{1, 3} {
					got, check := guarded[float64](t, k*n)
					s := symmetric(a, n, threads)
					for range 2 { // the second time in memory that was used
						s.Multiply(got, x, k, threads)
					}
					check()
					if bits == nil {
						bits = slices.Clone(got)
					}
					mustSame64(t, "product", got, bits)
				}
			})
			for c := range k {
				for i := range n {
					var want, size float64
					for j := range n {
						p := a[max(i, j)*n+min(i, j)] * x[c*n+j]
						want, size = want+p, size+math.Abs(p)
					}
					if e := math.Abs(bits[c*n+i] - want); !(e <= 1e-13*size) {
						t.Fatalf("%d rows, vector %d of %d: %g at %d, want %g", n, c, k, bits[c*n+i], i, want)
					}
				}
			}
		}
	}
}

func TestRunsAreTheLowerTriangle(t *testing.T) {
	for _, n := range []int{1, 40, TileDim + 3} {
		a := normals[float64](random(uint64(n)), n*n)
		got := make([]float64, n*n)
		symmetric(a, n, 1).Runs(1, func(run []float64, row, from int) { copy(got[row*n+from:], run) })
		for i := range n {
			mustSame64(t, "lower triangle", got[i*n:][:i+1], a[i*n:][:i+1])
			if slices.ContainsFunc(got[i*n+i+1:(i+1)*n], func(v float64) bool { return v != 0 }) {
				t.Fatalf("%d rows: a run of row %d passes the diagonal", n, i)
			}
		}
	}
}

func TestSymmetricBytesMatchesTheAllocation(t *testing.T) {
	for _, n := range []int{100, TileDim, 2*TileDim + 77} {
		for _, k := range []int{1, atOnce, 3 * atOnce} {
			s := NewSymmetric(n)
			s.Multiply(make([]float64, k*n), make([]float64, k*n), k, 1)
			have := 8 * (cap(s.columns) + cap(s.parts))
			for _, tile := range s.tiles {
				have += 8 * cap(tile)
			}
			if plan := SymmetricBytes(n, k); plan < int64(have) || plan > int64(have)*21/20 {
				t.Errorf("%d rows, %d vectors: planned %d bytes, has %d", n, k, plan, have)
			}
		}
	}
}

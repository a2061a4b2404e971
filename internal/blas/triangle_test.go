package blas

import (
	"fmt"
	"math"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// definite32 returns a positive definite matrix, its lower triangle in both
// precisions.
func definite32(n int) ([]float32, []float64) {
	r := random(uint64(n))
	a, b := make([]float32, n*n), make([]float64, n*n)
	for i := range n {
		for j := range i {
			a[i*n+j] = float32(r.NormFloat64())
		}
		a[i*n+i] = 3 * float32(n)
	}
	for i, v := range a {
		b[i] = float64(v)
	}
	return a, b
}

func TestTriangleSolves(t *testing.T) {
	for _, n := range []int{0, 1, 5, 16, 31, 100, triangleRows - 1, triangleRows, triangleRows + 1, 2*triangleRows + 77} {
		if testing.Short() && n > triangleRows+1 {
			continue
		}
		a, exact := definite32(n)
		if _, ok := Cholesky(exact, n, 2); !ok {
			t.Fatal("not positive definite")
		}
		for _, k := range []int{1, 3, 10} {
			if n > triangleRows+1 && k < 10 && !campaign.Whole() {
				continue
			}
			r := random(3)
			x := make([]float32, k*n)
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
			want := make([]float64, n*k)
			for i := range n {
				for c := range k {
					want[i*k+c] = float64(x[c*n+i])
				}
			}
			CholeskySolve(exact, n, want, k, 2)
			var bits []float32
			eachISA(t, func(t *testing.T) {
				l := append([]float32(nil), a...)
				if _, ok := Cholesky(l, n, 2); !ok {
					t.Fatal("not positive definite in float32")
				}
				for _, threads := range []int{1, 3} {
					got, check := guarded[float32](t, k*n)
					copy(got, x)
					NewTriangle(tiled(l, n), n, threads).Solve(got, k, threads)
					check()
					for i := range n {
						for c := range k {
							if v, w := float64(got[c*n+i]), want[i*k+c]; !(math.Abs(v-w) < 1e-5/float64(n)) {
								t.Fatalf("n = %d, k = %d: (%d, %d) is %g, want %g", n, k, c, i, v, w)
							}
						}
					}
					if bits == nil {
						bits = got
					}
					mustSame32(t, fmt.Sprintf("n = %d, k = %d: %d threads", n, k, threads), got, bits)
				}
			})
		}
	}
}

func TestTriangleBytesMatchesTheAllocation(t *testing.T) {
	const n = 2*triangleRows + 77
	a, _ := definite32(n)
	var have int64
	for _, run := range NewTriangle(tiled(a, n), n, 1).runs {
		have += 4 * int64(len(run))
	}
	if plan := TriangleBytes(n); plan < have || plan > have*5/4 {
		t.Errorf("%d bytes held, %d planned", have, plan)
	}
}

// A triangle that is set again keeps nothing of the previous matrix.
func TestTriangleCanBeSetAgain(t *testing.T) {
	for _, n := range []int{3, triangleRows, triangleRows + 77} {
		a, _ := definite32(n)
		other := make([]float32, n*n)
		for i := range n {
			for j := range i + 1 {
				other[i*n+j] = float32(1 + (i*j)%7)
			}
		}
		again, fresh := NewTriangle(tiled(other, n), n, 2), NewTriangle(tiled(a, n), n, 2)
		again.Set(tiled(a, n), 2)
		for run, want := range fresh.runs {
			mustSame32(t, fmt.Sprintf("n = %d, run %d", n, run), again.runs[run], want)
		}
	}
}

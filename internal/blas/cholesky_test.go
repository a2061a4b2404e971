package blas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// fma returns x·y + z, rounded once.
func fma[T real](x, y, z T) T {
	if _, ok := any(x).(float32); ok {
		return T(mulAdd32(float32(x), float32(y), float32(z)))
	}
	return T(math.FMA(float64(x), float64(y), float64(z)))
}

// textbook is the factorisation as its definition says it, and the twin of
// everything that Cholesky does.
func textbook[T real](a []T, n int) (pivot int, ok bool) {
	for i := range n {
		for j := range i + 1 {
			s := a[i*n+j]
			for p := range j {
				s = fma(-a[i*n+p], a[j*n+p], s)
			}
			if i > j {
				a[i*n+j] = s / a[j*n+j]
			} else if a[i*n+i] = T(math.Sqrt(float64(s))); !(s > 0) {
				return i, false
			}
		}
	}
	return n, true
}

func TestCholeskyInFloat32IsTheTextbookLoop(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for _, n := range choleskySizes {
			if n > 400 || testing.Short() && n > 200 || !campaign.Whole() && n > 260 {
				continue
			}
			a, _ := definite32(n)
			want := append([]float32(nil), a...)
			textbook(want, n)
			for _, threads := range []int{1, 3} {
				got, check := guarded[float32](t, n*n)
				copy(got, a)
				if pivot, ok := Cholesky(got, n, threads); !ok || pivot != n {
					t.Fatalf("n = %d: pivot %d", n, pivot)
				}
				mustSame32(t, fmt.Sprint("n = ", n), got, want)
				check()
			}
		}
	})
}

func textbookSolve(l []float64, n int, b []float64, k int) {
	for c := range k {
		for i := range n {
			s := b[i*k+c]
			for p := range i {
				s = math.FMA(-b[p*k+c], l[i*n+p], s)
			}
			b[i*k+c] = s / l[i*n+i]
		}
		for i := n - 1; i >= 0; i-- {
			s := b[i*k+c]
			for p := n - 1; p > i; p-- {
				s = math.FMA(-b[p*k+c], l[p*n+i], s)
			}
			b[i*k+c] = s / l[i*n+i]
		}
	}
}

// definite returns a positive definite matrix whose upper triangle would spoil
// what is computed from it, and shows what is written there.
func definite(n int, seed uint64) []float64 {
	r := random(seed)
	a := make([]float64, n*n)
	for i := range n {
		for j := range n {
			switch {
			case j < i:
				a[i*n+j] = r.NormFloat64()
			case j == i:
				a[i*n+j] = 3*float64(n) + r.NormFloat64()
			case (i+j)%2 == 0:
				a[i*n+j] = math.NaN()
			default:
				a[i*n+j] = 0.5
			}
		}
	}
	return a
}

var choleskySizes = []int{0, 1, 2, 3, 7, 8, 23, 24, 25, 31, 32, 33, 47, 48, 49, 63, 64, 65, 95, 96, 97, 127, 128, 129,
	200, 257, 321, 385, 600, 833}

func TestCholeskyIsTheTextbookLoopBitForBit(t *testing.T) {
	for _, n := range choleskySizes {
		if testing.Short() && n > 260 || !campaign.Whole() && n > 400 {
			continue
		}
		drawn := definite(n, 7)
		want := slices.Clone(drawn)
		textbook(want, n)
		eachLevel(t, func(t *testing.T) {
			for _, threads := range []int{1, 3} {
				a, check := guarded[float64](t, n*n)
				copy(a, drawn)
				if p, ok := Cholesky(a, n, threads); !ok || p != n {
					t.Fatalf("n = %d: not positive definite at %d", n, p)
				}
				mustSame64(t, fmt.Sprintf("n = %d, %d threads", n, threads), a, want)
				check()
			}
		})
	}
}

func TestCholeskyStopsAtTheFirstBadPivot(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for _, n := range []int{1, 20, 33, 100, 300} {
			for _, bad := range []int{0, n / 2, n - 1} {
				for _, v := range []float64{0, -1, math.NaN(), math.Inf(-1)} {
					a := definite(n, 3)
					a[bad*n+bad] = v
					if p, ok := Cholesky(a, n, 2); ok || p != bad {
						t.Fatalf("n = %d, %g at %d: got (%d, %v)", n, v, bad, p, ok)
					}
					if !(a[bad*n+bad] <= 0) && v == v {
						t.Errorf("n = %d: the pivot left behind is %g", n, a[bad*n+bad])
					}
				}
			}
		}
	})
}

func TestCholeskySolveIsTheTextbookLoopBitForBit(t *testing.T) {
	for _, n := range []int{1, 5, 31, 32, 33, 64, 65, 100, 257, 385} {
		l := definite(n, 7)
		textbook(l, n)
		for _, k := range []int{1, 3, 10, 33, 100} {
			b := normals[float64](random(uint64(n)), n*k)
			want := append([]float64(nil), b...)
			textbookSolve(l, n, want, k)
			eachLevel(t, func(t *testing.T) {
				for _, threads := range []int{1, 3} {
					x, check := guarded[float64](t, n*k)
					copy(x, b)
					CholeskySolve(l, n, x, k, threads)
					mustSame64(t, fmt.Sprintf("n = %d, k = %d, %d threads", n, k, threads), x, want)
					check()
				}
			})
		}
	}
}

func TestCholeskySolveSolves(t *testing.T) {
	const n, k = 150, 4
	r := random(5)
	a := definite(n, 11)
	at := func(i, j int) float64 { return a[max(i, j)*n+min(i, j)] }
	x := make([]float64, n*k)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	b := make([]float64, n*k)
	for i := range n {
		for j := range n {
			for c := range k {
				b[i*k+c] += at(i, j) * x[j*k+c]
			}
		}
	}
	l := append([]float64(nil), a...)
	Cholesky(l, n, 1)
	CholeskySolve(l, n, b, k, 1)
	for i := range b {
		if math.Abs(b[i]-x[i]) > 1e-12 {
			t.Fatalf("element %d is %g, want %g", i, b[i], x[i])
		}
	}
}

// Both equal the definition, for shapes near the blocks of the kernels.
func TestRowsSolvedAndSubProductMatchTheirDefinitions(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	random := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	for _, s := range [][2]int{{1, 1}, {5, 31}, {33, 64}, {70, 65}, {40, 300}} {
		m, n := s[0], s[1]
		l := random(n * n)
		for i := range n {
			l[i*n+i] = 2 + float64(n)
		}
		want := random(m * n)
		for _, d := range []direction{forward, backward} {
			x := make([]float64, m*n) // want·Lᵀ, or want·L
			for i := range m {
				for j := range n {
					for p := range n {
						row, col := j, p
						if d == backward {
							row, col = p, j
						}
						if col <= row {
							x[i*n+j] += want[i*n+p] * l[row*n+col]
						}
					}
				}
			}
			solveRows(x, n, m, l, n, n, d, 2)
			for i, v := range x {
				if math.Abs(v-want[i]) > 1e-9 {
					t.Fatalf("%d rows of %d, backward %v: element %d is %g, want %g", m, n, d, i, v, want[i])
				}
			}
		}
		a, b, c := random(m*n), random(7*n), random(m*7)
		got := slices.Clone(c)
		SubProduct(got, a, b, m, 7, n, 2)
		for i, v := range got {
			sum := c[i]
			for p := range n {
				sum = math.FMA(-a[i/7*n+p], b[i%7*n+p], sum)
			}
			if v != sum {
				t.Fatalf("%d×7 of %d steps: element %d is %g, want %g", m, n, i, v, sum)
			}
		}
	}
}

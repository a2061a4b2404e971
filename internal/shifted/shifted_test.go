package shifted

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/stattest"
)

// gram returns AᵀA of random rows, some of them far larger than others, and random right sides.
func gram(n, rows, k int, seed uint64) (m Matrix, b []float64) {
	r := rand.New(rand.NewPCG(seed, 0))
	a := make([]float64, rows*n)
	for i := range a {
		a[i] = r.NormFloat64() / float64(1+i%n)
	}
	m = New(n, 2)
	m.Reserve()
	for i := range n {
		m.Ridge[i] = 0.5 + r.Float64()
		for j := i; j < n; j++ {
			var s float64
			for t := range rows {
				s += a[t*n+i] * a[t*n+j]
			}
			if m.Square[i*n+j] = s; i == j {
				m.Diag[i] = s
			}
		}
	}
	for range n * k {
		b = append(b, r.NormFloat64())
	}
	return m, b
}

// residual returns |(A + μR)x − b| / |b| of x and b, n×k.
func residual(m Matrix, x, b []float64, k int, mu float64) float64 {
	n := len(m.Diag)
	var off, size float64
	for i := range n {
		for c := range k {
			e := (m.Diag[i]+mu*m.Ridge[i])*x[i*k+c] - b[i*k+c]
			for j := range n {
				if j != i {
					e += m.Square[min(i, j)*n+max(i, j)] * x[j*k+c]
				}
			}
			off, size = off+e*e, size+b[i*k+c]*b[i*k+c]
		}
	}
	return math.Sqrt(off / size)
}

func TestSolveSolvesForEachShift(t *testing.T) {
	for _, n := range []int{1, 63, 64, 65, 200} {
		m, b := gram(n, 2*n, 3, uint64(n))
		for _, mu := range []float64{1, 1e-3, 10} { // in any order, on one matrix
			x := slices.Clone(b)
			if _, ok := m.Solve(x, 3, mu); !ok {
				t.Fatalf("n %d, mu %g: not positive definite", n, mu)
			}
			if e := residual(m, x, b, 3, mu); e > 1e-8 {
				t.Errorf("n %d, mu %g: residual %.2g", n, mu, e)
			}
		}
	}
}

func TestSingularMatricesAreNotSolved(t *testing.T) {
	m, b := gram(80, 40, 1, 1)
	if pivot, ok := m.Solve(b, 1, 0); ok || pivot < 30 || pivot > 50 {
		t.Errorf("rank 40: pivot %d, ok %v", pivot, ok)
	}
	if m.Factor(1e-12, make([]float32, 80*80), nil) != nil {
		t.Error("a factor in float32 of a matrix that is singular to it")
	}
}

// A descent finds the solution by a factor of its own shift in few steps, by that of a nearby one in more, for several
// shifts at once, and equally on every CPU level and with every number of threads.
func TestDescentFindsTheSolution(t *testing.T) {
	const n, k = 150, 2
	mus := []float64{1e-2, 1.2e-2, 1}
	var want []float64
	for _, level := range blas.Levels() {
		was := blas.Level()
		if err := blas.SetLevel(level); err != nil {
			t.Fatal(err)
		}
		for _, threads := range []int{1, 3} {
			m, b := gram(n, 400, k, 7)
			m.Threads = threads
			var systems []*System
			for i, mu := range mus {
				by := m.Factor(mu, make([]float32, n*n), nil)
				if i == 1 {
					if by = systems[0].By; !by.Serves(mu) {
						t.Error("a factor does not serve a shift that changes little")
					}
				} else if i == 2 && systems[0].By.Serves(mu) {
					t.Error("a factor serves a shift of a hundred times its own")
				}
				systems = append(systems, &System{Mu: mu, By: by})
			}
			x := m.Descend(b, k, systems)
			if want == nil {
				want = x
			}
			if !slices.Equal(x, want) {
				t.Errorf("level %s, %d threads: other solutions", level, threads)
			}
			for i, s := range systems {
				if !s.Solved {
					t.Errorf("mu %g is not solved", s.Mu)
				}
				exact := slices.Clone(b)
				m.Solve(exact, k, s.Mu)
				var off, size float64
				for j := range n {
					for c := range k {
						e := exact[j*k+c] - x[i*n*k+c*n+j]
						off, size = off+e*e, size+exact[j*k+c]*exact[j*k+c]
					}
				}
				if e := math.Sqrt(off / size); e > 1e-3 {
					t.Errorf("mu %g: off by %.2g", s.Mu, e)
				}
				// What solves have left in the square changes nothing.
				for range 2 {
					if again := m.Descend(b, k, []*System{{Mu: s.Mu, By: s.By}}); !slices.Equal(again, x[i*n*k:][:n*k]) {
						t.Errorf("mu %g: another solution after other solves", s.Mu)
					}
				}
			}
		}
		if err := blas.SetLevel(was); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNothingIsFused(t *testing.T) { stattest.NoFusedMultiplyAdd(t, "fma", "cholesky") }

package solver

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/blas"
)

// gram returns AᵀA of random rows, some of them far larger than others, as tiles of which Centre takes nothing, and random right sides.
func gram(n, rows, k int, seed uint64) (m Matrix, tiles [][]float64, b []float64) {
	r := rand.New(rand.NewPCG(seed, 0))
	a := make([]float64, rows*n)
	for i := range a {
		a[i] = r.NormFloat64() / float64(1+i%n)
	}
	m, tiles = NewMatrix(n, 2), blas.NewTiles(n)
	for i := range n {
		m.Ridge[i] = 0.5 + r.Float64()
		for j := range i + 1 {
			var s float64
			for t := range rows {
				s += a[t*n+i] * a[t*n+j]
			}
			*at(tiles, n, i, j) = s
		}
	}
	m.Centre(tiles, nil, make([]float64, n), 1)
	for range n * k {
		b = append(b, r.NormFloat64())
	}
	return m, tiles, b
}

// at returns an element of the lower triangle.
func at(tiles [][]float64, n, i, j int) *float64 {
	r, c := i/blas.TileDim, j/blas.TileDim
	return &tiles[r*(r+1)/2+c][i%blas.TileDim*blas.TileRows(n, c)+j%blas.TileDim]
}

// copied returns a copy of tiles.
func copied(tiles [][]float64) (to [][]float64) {
	for _, t := range tiles {
		to = append(to, slices.Clone(t))
	}
	return to
}

// residual returns |(A + μR)x − b| / |b| of x and b, n×k.
func residual(m Matrix, tiles [][]float64, x, b []float64, k int, mu float64) float64 {
	n := len(m.Diag)
	var off, size float64
	for i := range n {
		for c := range k {
			e := mu*m.Ridge[i]*x[i*k+c] - b[i*k+c]
			for j := range n {
				e += *at(tiles, n, max(i, j), min(i, j)) * x[j*k+c]
			}
			off, size = off+e*e, size+b[i*k+c]*b[i*k+c]
		}
	}
	return math.Sqrt(off / size)
}

func TestTilesAreSolvedForEachShift(t *testing.T) {
	for _, n := range []int{1, 63, 64, 65, 200, blas.TileDim + 70} {
		m, tiles, b := gram(n, n+20, 3, uint64(n))
		for _, mu := range []float64{1, 1e-3, 10} {
			x := slices.Clone(b)
			if _, ok := m.SolveTiles(copied(tiles), x, 3, mu); !ok {
				t.Fatalf("n %d, mu %g: not positive definite", n, mu)
			}
			if e := residual(m, tiles, x, b, 3, mu); e > 1e-8 {
				t.Errorf("n %d, mu %g: residual %.2g", n, mu, e)
			}
		}
	}
}

// Both ways to centre subtract the means, in place or not.
func TestMatricesAreCentred(t *testing.T) {
	const n, rows = blas.TileDim + 30, 50.0
	m, tiles, _ := gram(n, 20, 1, 3)
	_, minus, _ := gram(n, 10, 1, 4)
	sums := make([]float64, n)
	for i := range sums {
		sums[i] = float64(i%7) - 2
	}
	for _, less := range [][][]float64{nil, minus} {
		into, inPlace := blas.NewTiles(n), copied(tiles)
		m.CentreTiles(into, tiles, less, sums, rows)
		m.CentreTiles(inPlace, inPlace, less, sums, rows)
		m.Centre(tiles, less, sums, rows)
		x, ax := make([]float64, n), make([]float64, n)
		for _, j := range []int{0, 1, 200, blas.TileDim - 1, blas.TileDim, n - 1} {
			clear(x)
			x[j] = 1
			m.a.Multiply(ax, x, 1, 1)
			for i := range n {
				r, c := max(i, j), min(i, j)
				want := *at(tiles, n, r, c) - sums[r]*sums[c]/rows
				if less != nil {
					want -= *at(less, n, r, c)
				}
				got := map[string]float64{"of descents": ax[i], "of tiles": *at(into, n, r, c), "in place": *at(inPlace, n, r, c)}
				if i == j {
					got["on the diagonal"] = m.Diag[i]
				}
				for name, v := range got {
					if !(math.Abs(v-want) < 1e-12*(1+math.Abs(want))) {
						t.Fatalf("%s: %g at (%d, %d), want %g", name, v, i, j, want)
					}
				}
			}
		}
	}
}

func TestSingularMatricesAreNotSolved(t *testing.T) {
	m, tiles, b := gram(80, 40, 1, 1)
	if m.Factor(1e-12, blas.MakeTiles[float32](80), nil) != nil {
		t.Error("a factor in float32 of a matrix that is singular to it")
	}
	if pivot, ok := m.SolveTiles(tiles, b, 1, 0); ok || pivot < 30 || pivot > 50 {
		t.Errorf("rank 40: pivot %d, ok %v", pivot, ok)
	}
}

// A descent finds the solution by the factor of its own shift in few steps, and by the factor of a nearby shift in
// more, for several shifts at once. The solution has the same bits on every CPU level and with every number of
// threads.
func TestDescentFindsTheSolution(t *testing.T) {
	const n, k = 430, 2 // more than a tile
	mus := []float64{1e-2, 1.2e-2, 1}
	m, tiles, b := gram(n, 900, k, 7)
	var want []float64
	for _, level := range blas.ISAs() {
		was := blas.ISA()
		if err := blas.SetISA(level); err != nil {
			t.Fatal(err)
		}
		for _, threads := range []int{1, 3} {
			m.Threads = threads
			var systems []*System
			for i, mu := range mus {
				factor := m.Factor(mu, blas.MakeTiles[float32](n), nil)
				if i == 1 {
					if factor = systems[0].Factor; !factor.Serves(mu) {
						t.Error("a factor does not serve a shift that changes little")
					}
				} else if i == 2 && systems[0].Factor.Serves(mu) {
					t.Error("a factor serves a shift of a hundred times its own")
				}
				systems = append(systems, &System{Mu: mu, Factor: factor})
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
				m.SolveTiles(copied(tiles), exact, k, s.Mu)
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
				// Earlier descents, and solutions in the memory of the matrix, change nothing.
				for range 2 {
					for _, tile := range m.Tiles() {
						for i := range tile {
							tile[i] = math.NaN()
						}
					}
					m.Centre(tiles, nil, make([]float64, n), 1)
					if again := m.Descend(b, k, []*System{{Mu: s.Mu, Factor: s.Factor}}); !slices.Equal(again, x[i*n*k:][:n*k]) {
						t.Errorf("mu %g: another solution after other solves", s.Mu)
					}
				}
			}
		}
		if err := blas.SetISA(was); err != nil {
			t.Fatal(err)
		}
	}
}

package solver

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/blas"
)

// The errors match a loop over the rows, and threads change no bit.
func TestErrorsMatchTheRows(t *testing.T) {
	const n, k, width = 30, 2, 3
	for _, d := range []int{1, 5, blas.TileDim + 3} {
		r := rand.New(rand.NewPCG(uint64(d), 1))
		draw := func(n int) []float64 {
			v := make([]float64, n)
			for i := range v {
				v[i] = math.Round(20 * r.NormFloat64())
			}
			return v
		}
		z, q, vt := draw(n*d), draw(n*k), draw(2*k*d)
		for i := range vt {
			vt[i] /= 100
		}
		fit := HeldOutFit{N: 7, Columns: draw(d), Targets: draw(k), Factors: []float64{1, 0.25}}
		sums := HeldOutSums{N: n, Columns: make([]float64, d), Targets: make([]float64, k), Squares: make([]float64, k),
			Cross: make([]float64, d*width), Width: width}
		for tile, i := 0, 0; i*blas.TileDim < d; i++ {
			for j := range i + 1 {
				sums.Tiles = append(sums.Tiles, make([]float64, blas.TileRows(d, i)*blas.TileRows(d, j)))
				for a := range blas.TileRows(d, i) {
					for b := range blas.TileRows(d, j) {
						for row := range n {
							if i > j || b <= a {
								sums.Tiles[tile][a*blas.TileRows(d, j)+b] += z[row*d+i*blas.TileDim+a] * z[row*d+j*blas.TileDim+b]
							}
						}
					}
				}
				tile++
			}
		}
		for row := range n {
			for j := range d {
				sums.Columns[j] += z[row*d+j]
				for c := range k {
					sums.Cross[j*width+c] += z[row*d+j] * q[row*k+c]
				}
			}
			for c := range k {
				sums.Targets[c] += q[row*k+c]
			}
		}
		for row := range n {
			for c := range k {
				e := q[row*k+c] - sums.Targets[c]/n
				sums.Squares[c] += e * e
			}
		}
		got := NewHeldOutErrors(d, k, 1).Squares(fit, sums, vt)
		for v := range 2 {
			var want float64
			for row := range n {
				for c := range k {
					e := q[row*k+c] - fit.Targets[c]/fit.N
					for j := range d {
						e -= vt[(v*k+c)*d+j] * (z[row*d+j] - fit.Columns[j]/fit.N)
					}
					want += fit.Factors[c] * e * e
				}
			}
			if math.Abs(got[v]-want) > 1e-9*want {
				t.Errorf("%d features: error %g, want %g", d, got[v], want)
			}
		}
		if again := NewHeldOutErrors(d, k, 3).Squares(fit, sums, vt); !slices.Equal(again, got) {
			t.Errorf("%d features: %v with three threads, %v with one", d, again, got)
		}
	}
}

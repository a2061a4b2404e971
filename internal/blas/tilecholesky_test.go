package blas

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// A matrix in tiles has the same factor as in one square, the same solutions and the same bad pivot, bit for bit, on
// any number of threads.
func TestTiledCholeskyMatchesTheSquareOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for _, d := range []int{1, 31, TileDim - 1, TileDim, TileDim + 1, 2*TileDim + 200, 3*TileDim + 65} {
		if testing.Short() && d > TileDim+1 {
			continue
		}
		const k = 3
		a, b := make([]float64, d*d), make([]float64, d*k)
		for i := range d {
			for j := range i + 1 {
				a[i*d+j] = rng.NormFloat64()
				if i == j {
					a[i*d+j] = 4 * math.Sqrt(float64(d)) * (1 + rng.Float64())
				}
			}
		}
		for i := range b {
			b[i] = rng.NormFloat64()
		}
		for try, bad := range []int{-1, 0, d / 2, d - 1, -1, -1} {
			if !campaign.Whole() && try > 1 && try < 5 && d > 31 {
				continue
			}
			threads := 1 + try%5
			square, tiles := slices.Clone(a), NewTiles(d)
			if bad >= 0 {
				square[bad*d+bad] = -1
			}
			at := func(i, j int) *float64 {
				ti, tj := i/TileDim, j/TileDim
				return &tiles[ti*(ti+1)/2+tj][i%TileDim*TileRows(d, tj)+j%TileDim]
			}
			for i := range d {
				for j := range i + 1 {
					*at(i, j) = square[i*d+j]
				}
			}
			pivot, ok := Cholesky(square, d, 2)
			p, good := CholeskyTiles(tiles, d, threads)
			if p != pivot || good != ok || ok != (bad < 0) {
				t.Fatalf("%d rows: pivot %d, %v; want %d, %v", d, p, good, pivot, ok)
			}
			if !ok {
				continue
			}
			for i := range d {
				if TileDiagonal(tiles, d, i) != at(i, i) {
					t.Fatalf("%d rows: element %d of the diagonal is another", d, i)
				}
				for j := range i + 1 {
					if *at(i, j) != square[i*d+j] {
						t.Fatalf("%d rows: element %d, %d is %g, want %g", d, i, j, *at(i, j), square[i*d+j])
					}
				}
			}
			x, y := slices.Clone(b), slices.Clone(b)
			CholeskySolve(square, d, x, k, 2)
			CholeskyTilesSolve(tiles, d, y, k, threads)
			if !slices.Equal(x, y) {
				t.Errorf("%d rows: another solution", d)
			}
		}
	}
}

package columns

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestColumnsThatNameEntitiesAreFound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const n, d = 2000, 5
	kinds := map[string]struct {
		row  func(entity int, base []float64) (x [d]float32, y float64)
		want []int
	}{
		"patients with several measurements": {func(e int, base []float64) (x [d]float32, y float64) {
			x[0] = float32(e)
			for j := 1; j < d; j++ {
				x[j] = float32(base[j] + 0.2*r.NormFloat64())
			}
			return x, float64(r.IntN(2))
		}, []int{0}},
		"the entity has the label": {func(e int, base []float64) (x [d]float32, y float64) {
			x[0] = float32(e)
			for j := 1; j < d; j++ {
				x[j] = float32(r.NormFloat64())
			}
			return x, base[0]
		}, []int{0}},
		"counts of games, runs and walks": {func(e int, base []float64) (x [d]float32, y float64) {
			games := float64(e)
			for j := range d {
				x[j] = float32(math.Round(games * (1 + 0.02*r.NormFloat64()) / float64(1+j)))
			}
			return x, games * games
		}, nil},
		"a category": {func(e int, base []float64) (x [d]float32, y float64) {
			x[0] = float32(e)
			for j := 1; j < d; j++ {
				x[j] = float32(0.5*base[j] + r.NormFloat64())
			}
			return x, base[0] + r.NormFloat64()
		}, nil},
		"whole numbers": {func(int, []float64) (x [d]float32, y float64) {
			for j := range d {
				x[j] = float32(r.IntN(50))
			}
			return x, float64(x[0] + x[1])
		}, nil},
	}
	for name, kind := range kinds {
		bases := make([][]float64, 200)
		for e := range bases {
			for range d {
				bases[e] = append(bases[e], r.NormFloat64())
			}
		}
		var x []float32
		var y []float64
		for range n {
			e := r.IntN(len(bases))
			row, label := kind.row(e, bases[e])
			x, y = append(x, row[:]...), append(y, label)
		}
		if got := Entities(x, n, d, y, func(int) bool { return true }); !slices.Equal(got, kind.want) {
			t.Errorf("%s: columns %v, want %v", name, got, kind.want)
		}
	}
}

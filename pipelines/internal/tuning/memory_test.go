package tuning

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/profile"
)

// Columns are measured unless their values repeat so often that a search may make levels of them.
func TestMeasuredColumnsHaveTooManyValuesForLevels(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const d = 5
	row := func() []float32 {
		x := []float32{float32(random.NormFloat64()), float32(random.IntN(1024)), float32(random.IntN(12)),
			float32(random.Float64()), float32(random.Float64())}
		if random.IntN(2) == 0 {
			x[3] = 0
		}
		if random.IntN(2) == 0 {
			x[4] = float32(math.NaN())
		}
		return x
	}
	for name, c := range map[string]struct{ rows, copies, want int }{
		"rows": {5000, 1, 1}, "few rows": {799, 1, 0}, "three copies of each row": {1000, 3, 0},
	} {
		s := profile.New(profile.Options{})
		for range c.rows {
			b := &rowio.Block{N: 1, D: d, X: row()}
			for range c.copies {
				s.AddBlock(b, rowio.HashBlock(nil, 1, b))
			}
		}
		if got := Measured(s, nil); got != c.want {
			t.Errorf("%s: %d columns, want %d", name, got, c.want)
		}
	}
}

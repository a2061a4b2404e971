package score

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/io/wire"
)

// Kept scores are those at their ranks, with ties, for every cut and order of the rows; a row of weight 3
// counts as three rows if all do.
func TestConformalKeepsTheScoresAtTheirRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 7, 100, 101, 1234, 5000} {
		scores := make([]float64, n)
		for i := range scores {
			scores[i] = math.Round(200*rng.Float64()) / 8
		}
		a, b, tripled := NewConformal(), NewConformal(), NewConformal()
		for i, s := range scores {
			[]*Conformal{a, b}[rng.IntN(2)].Add(s, 1)
			tripled.Add(scores[n-1-i], 3)
			tripled.Add(1e9, 0) // does not count
		}
		wire.Merge(a, b)
		whole := NewConformal()
		for _, s := range scores {
			whole.Add(s, 1)
		}
		if !bytes.Equal(wire.Marshal(a), wire.Marshal(whole)) {
			t.Errorf("%d rows: other bytes by cut and order", n)
		}
		var read Conformal
		if err := wire.Unmarshal(&read, wire.Marshal(a)); err != nil || read.Rows() != int64(n) {
			t.Fatal(err)
		}
		slices.SortFunc(scores, func(a, b float64) int { return int(8 * (b - a)) })
		var want []float32
		for rank := int64(1); rank <= int64(n); rank = NextRank(rank) {
			want = append(want, float32(scores[rank-1]))
		}
		for _, c := range []*Conformal{a, &read, tripled} {
			if got := c.Kept(); !slices.Equal(got, want) {
				t.Errorf("%d rows: %v, want %v", n, got, want)
			}
		}
	}
}

func TestConformalCountsWhatIsNotFiniteAsTheLargest(t *testing.T) {
	c := NewConformal()
	for _, s := range []float64{1, math.NaN(), math.Inf(1), 2} {
		c.Add(s, 1)
	}
	if got := c.Kept(); !slices.Equal(got, []float32{math.MaxFloat32, math.MaxFloat32, 2, 1}) {
		t.Error(got)
	}
}

func FuzzConformalFromAnyBytes(f *testing.F) {
	c := NewConformal()
	c.Add(2.5, 3)
	c.Add(-1, 1)
	f.Add(wire.Marshal(c))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c Conformal
		if wire.Unmarshal(&c, data) == nil && c.Rows() < 1<<20 {
			c.Kept()
		}
	})
}

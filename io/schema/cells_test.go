package schema

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestCellsDependOnTheNumbersOnly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	wide := 0
	for range 300 {
		limit := 2 + r.IntN(40)
		spread := float64(r.IntN(300))
		var numbers []float64
		for range 1 + r.IntN(300) {
			v := r.NormFloat64() * math.Exp2(spread*(r.Float64()-0.5))
			if r.IntN(4) == 0 {
				v = float64(r.IntN(5) - 2)
			}
			numbers = append(numbers, v)
		}
		var whole cells
		parts := make([]cells, 1+r.IntN(5))
		for _, v := range numbers {
			whole.add(v, 1, limit)
			parts[r.IntN(len(parts))].add(v, 1, limit)
		}
		for len(parts) > 1 {
			last := parts[len(parts)-1]
			parts = parts[:len(parts)-1]
			parts[r.IntN(len(parts))].merge(&last, limit)
		}
		if parts[0].shift != whole.shift || !maps.Equal(parts[0].n, whole.n) {
			t.Fatalf("cut and merged: %v, want %v", parts[0].n, whole.n)
		}
		if len(whole.n) > limit {
			t.Fatalf("%d intervals, want at most %d", len(whole.n), limit)
		}
		if whole.shift > 0 {
			wide++
		}
		slices.Sort(numbers)
		lo, hi := numbers[0], numbers[len(numbers)-1]
		for _, q := range []float64{0, 0.1, 0.5, 0.9, 1} {
			want := numbers[int(math.Floor(q*float64(len(numbers)-1)))]
			got, within := quantile(whole.pieces(lo, hi), q)
			if e := math.Abs(got - want); !(e <= within*(1+1e-12)+1e-300) {
				t.Fatalf("quantile %g is %g ± %g, want %g", q, got, within, want)
			}
		}
	}
	if wide < 100 {
		t.Errorf("intervals were widened only %d times", wide)
	}
}

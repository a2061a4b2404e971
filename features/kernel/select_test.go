package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMiddleMatchesSorting(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	fill := map[string]func(i, n int) float64{
		"random":     func(i, n int) float64 { return r.ExpFloat64() },
		"few values": func(i, n int) float64 { return float64(r.IntN(3)) },
		"equal":      func(i, n int) float64 { return 1 },
		"ascending":  func(i, n int) float64 { return float64(i) },
		"descending": func(i, n int) float64 { return float64(n - i) },
		"tiny":       func(i, n int) float64 { return float64(i%5) * 5e-324 },
		"zeros":      func(i, n int) float64 { return 0 },
		"a pipe":     func(i, n int) float64 { return float64(min(i, n-i)) },
	}
	for name, f := range fill {
		for _, n := range []int{1, 2, 3, 16, 17, 18, 19, 100, 1001, 20_000} {
			v := make([]float64, n)
			for i := range v {
				v[i] = f(i, n)
			}
			sorted := slices.DeleteFunc(slices.Sorted(slices.Values(v)), func(x float64) bool { return x == 0 })
			low, high := middle(v)
			var wantLow, wantHigh float64
			if m := len(sorted); m > 0 {
				wantLow, wantHigh = sorted[(m-1)/2], sorted[m/2]
			}
			if low != wantLow || high != wantHigh {
				t.Errorf("%s, %d numbers: %g and %g, want %g and %g", name, n, low, high, wantLow, wantHigh)
			}
		}
	}
}

package score

import (
	"math"
	"testing"
)

// The values are of the formula, computed apart with Python's math module.
func TestIntervalsOfRates(t *testing.T) {
	for _, c := range []struct {
		k, n      int64
		low, high float64
	}{
		{0, 10, 0, 0.277532799862889},
		{10, 10, 0.722467200137111, 1},
		{5, 10, 0.236593090512564, 0.763406909487436},
		{1, 1, 0.206549314377237, 1},
		{0, 0, 0, 1},
	} {
		low, high := WilsonInterval(c.k, c.n)
		if math.Abs(low-c.low) > 1e-12 || math.Abs(high-c.high) > 1e-12 {
			t.Errorf("%d of %d: %.15g to %.15g, want %.15g to %.15g", c.k, c.n, low, high, c.low, c.high)
		}
	}
}

// The interval holds the rate for about 95% of all samples, where p ± 1.96·SE does so
// for 4% of samples of 40 rows of which one in a thousand is wrong. Coverage is summed
// over the binomial distribution, not sampled. (Brown, Cai and DasGupta 2001, Fig. 4:
// below 0.95 it dips for rates near 0, and to no less than 0.83.)
func TestIntervalsHoldTheRate(t *testing.T) {
	for _, n := range []int64{40, 500} {
		for _, p := range []float64{0.001, 0.01, 0.05, 0.3, 0.5, 0.9} {
			var covered, naive float64
			for k := range n + 1 {
				chance := binomial(n, k, p)
				if low, high := WilsonInterval(k, n); low <= p && p <= high {
					covered += chance
				}
				q := float64(k) / float64(n)
				if math.Abs(q-p) <= 1.96*math.Sqrt(q*(1-q)/float64(n)) {
					naive += chance
				}
			}
			if covered < 0.9 {
				t.Errorf("n = %d, p = %g: %.3f of samples", n, p, covered)
			}
			if n == 40 && p == 0.001 && naive > 0.1 {
				t.Errorf("p ± 1.96·SE covers %.3f: the test cannot fail", naive)
			}
		}
	}
	for n := int64(1); n < 3000; n += 7 {
		for _, k := range []int64{0, 1, n / 2, n} {
			if low, high := WilsonInterval(k, n); !(0 <= low && low <= float64(k)/float64(n) && float64(k)/float64(n) <= high &&
				high <= 1 && high > low) {
				t.Fatalf("%d of %d: %g to %g", k, n, low, high)
			}
		}
	}
}

func binomial(n, k int64, p float64) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(a - b - c + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

package score

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// With few and skewed rows the plain t test promotes too often on one side; corrected, it keeps
// its level.
func TestSkewedLossTestKeepsItsLevel(t *testing.T) {
	const nights, n = 20_000, 200
	r := rand.New(rand.NewPCG(4, 4))
	corrected, plain := [2]int{}, [2]int{}
	normal := distuv.LogNormal{Mu: 0, Sigma: 1, Src: r}
	mean := normal.Mean()
	row := make([]float64, n)
	for range nights {
		var s1, s2, s3 float64
		for i := range row {
			row[i] = normal.Rand() - mean
			s1 += row[i]
		}
		for _, v := range row {
			z := v - s1/n
			s2 += z * z
			s3 += z * z * z
		}
		d := Mean{Mean: s1 / n, StdErr: math.Sqrt(s2/(n-1)) / math.Sqrt(n), Skew: s3 / math.Pow(s2, 1.5), Effective: n}
		p := d.PBelow(0)
		q := d.student().CDF(d.Mean / d.StdErr)
		for side, v := range [2]float64{p, 1 - p} {
			if v <= 0.05 {
				corrected[side]++
			}
			if u := [2]float64{q, 1 - q}[side]; u <= 0.05 {
				plain[side]++
			}
		}
	}
	off := func(n [2]int) float64 {
		return max(math.Abs(float64(n[0])/nights-0.05), math.Abs(float64(n[1])/nights-0.05))
	}
	t.Logf("rejected at 5%%: corrected %v, plain %v of %d", corrected, plain, nights)
	if off(corrected) > off(plain)/2 || off(corrected) > 0.02 {
		t.Errorf("rejected at 5%%: corrected %v, plain %v of %d", corrected, plain, nights)
	}
}

func TestTransformationHasItsInverse(t *testing.T) {
	for _, skew := range []float64{-0.8, -0.1, 0, 1e-9, 0.01, 0.5} {
		for s := -4.0; s <= 4; s += 0.25 {
			d := Mean{Skew: skew}
			if got := d.transformed(d.inverse(s)); math.Abs(got-s) > 1e-6 {
				t.Errorf("skew %g: %g became %g", skew, s, got)
			}
		}
	}
	d := Mean{Mean: 0.3, StdErr: 0.1, Skew: 0.2, Effective: 100}
	low, high := d.Bounds(0.975)
	if a, b := d.PBelow(high), d.PBelow(low); math.Abs(a-0.025) > 1e-9 || math.Abs(b-0.975) > 1e-9 {
		t.Errorf("p at the bounds %g and %g", a, b)
	}
	if low, high := (Mean{Mean: 1, StdErr: 0.1, Effective: 10}).Bounds(0.95); !math.IsInf(low, -1) || !math.IsInf(high, 1) {
		t.Errorf("10 rows: %g to %g", low, high)
	}
}

// Intervals equal the formula, computed separately with Python's math module.
func TestRateIntervalsMatchPython(t *testing.T) {
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

// The interval contains the rate for about 95% of all samples, where p ± 1.96·SE does so for 4% of samples of
// 40 rows of which one in a thousand is wrong. Coverage is summed over the binomial distribution, not sampled.
// (Brown, Cai and DasGupta 2001, Fig. 4: below 0.95 it dips for rates near 0, and to no less than 0.83.)
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

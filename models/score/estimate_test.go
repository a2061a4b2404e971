package score

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// With few and skewed rows the plain t test promotes too often on one side; corrected, it keeps
// its level.
func TestTheTestOfSkewedLossesKeepsItsLevel(t *testing.T) {
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

func TestTheTransformationHasItsInverse(t *testing.T) {
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

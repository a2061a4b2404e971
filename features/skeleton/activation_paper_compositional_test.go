package skeleton

import (
	"math"
	"testing"
)

var ()

// The series of the activations equal their closed forms; a_i ≥ 0, Σ a_i = 1.
func TestSeriesEqualTheDualActivations(t *testing.T) {
	stepDual := func(rho float64) float64 { return 1 - math.Acos(rho)/math.Pi }
	for name, a := range activations {
		c := a.coefficients(MaxDegree)
		for rho := -1.0; rho <= 1; rho += 0.125 {
			var value, slope, total float64
			for i := len(c) - 1; i >= 0; i-- {
				value = value*rho + c[i]
				slope += float64(i) * c[i]
				total += c[i]
				if c[i] < 0 {
					t.Fatalf("%s: a_%d = %v", name, i, c[i])
				}
			}
			if math.Abs(value-a.dual(rho)) > 1e-8 || math.Abs(total-1) > 1e-8 {
				t.Errorf("%s at %v: series %v, closed form %v, sum %v", name, rho, value, a.dual(rho), total)
			}
			if math.Abs(slope-a.meanDegree()) > 1.1e-3 {
				t.Errorf("%s: Σ i·a_i = %v, slope %v", name, slope, a.meanDegree())
			}
		}
	}
	// [(2i−3)!!]²/(2i)!/π, e^{−1/s}s^{−i}/i!.
	have := relu.coefficients(6)
	for i, want := range []float64{1 / math.Pi, 0.5, 1 / (2 * math.Pi), 0, 1 / (24 * math.Pi), 0, 9 / (720 * math.Pi)} {
		if math.Abs(have[i]-want) > 1e-16 {
			t.Errorf("relu: a_%d = %v, want %v", i, have[i], want)
		}
	}
	for _, s := range []float64{0.002, 0.3, 1, 4, 1e9} {
		if have, want := (Activation{Exponential: s}).coefficients(0)[0], math.Exp(-1/s); math.Abs(have/want-1) > 1e-13 {
			t.Errorf("exponential %v: a_0 = %v, want %v", s, have, want)
		}
	}
	// The step function's series tends to its dual as the degree grows, and its slope to infinity.
	off, slope := 1.0, 0.0
	for _, n := range []int{1, 9, 99, 999, 9999} {
		a := Activation{Step: n}
		worst := 0.0
		for rho := -0.875; rho < 1; rho += 0.125 {
			worst = max(worst, math.Abs(a.dual(rho)-stepDual(rho)))
		}
		if !(worst < off) || !(a.meanDegree() > 1.5*slope) {
			t.Errorf("step %d: off by %v after %v, slope %v after %v", n, worst, off, a.meanDegree(), slope)
		}
		off, slope = worst, a.meanDegree()
	}
}

// Lemma 9: degrees come with probabilities a_i, by the inversion of a uniform number.
func TestDegreesHaveTheCoefficientsAsProbabilities(t *testing.T) {
	const n = 200000
	for name, a := range activations {
		d := a.prepare()
		count := map[int]int{}
		for i := range n { // stratified, so that counts are off by one or two
			count[d.degree((float64(i)+0.5)/n)]++
		}
		for i, p := range a.coefficients(60) {
			if math.Abs(float64(count[i])-p*n) > 2 {
				t.Errorf("%s: degree %d for %d of %d, want %.1f", name, i, count[i], n, p*n)
			}
		}
		for _, u := range []float64{0x1p-53, 1 - 0x1p-53} {
			if l := d.degree(u); l < 0 || l >= len(d.sums) {
				t.Errorf("%s: degree %d for %v", name, l, u)
			}
		}
	}
}

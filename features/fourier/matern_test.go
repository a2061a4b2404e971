package fourier

import (
	"math"
	"testing"
)

var smoothness = []float64{0.5, 0.51, 0.75, 1, 1.3, 1.5, 2, 2.5, 3.5, 7.25, 20, 99, 100}

func TestMaternIntegralEqualsClosedForms(t *testing.T) {
	for _, nu := range []float64{0.5, 1.5, 2.5} {
		for _, x := range []float64{1e-30, 1e-17, 1e-12, 1e-6, 1e-3, 0.1, 0.5, 1, 2, 5, 20, 100, 600} {
			want := matern(nu, x)
			if have := maternIntegral(nu, x); !(math.Abs(have-want) <= 2e-12*want) {
				t.Errorf("ν=%v t=%v: have %v, want %v", nu, x, have, want)
			}
		}
	}
}

// K_{ν+1}(t) = K_{ν−1}(t) + (2ν/t)·K_ν(t)   (Watson 3.71), which for the kernel k_ν reads
// k_{ν+1} = k_ν + t²/(4ν(ν−1))·k_{ν−1}.
func TestMaternFollowsTheBesselRecurrence(t *testing.T) {
	for _, nu := range []float64{1.5, 1.75, 2, 3.1, 8, 42.5, 98} {
		for _, x := range []float64{0.01, 0.3, 1, 4, 15, 80} {
			want := maternIntegral(nu, x) + x*x/(4*nu*(nu-1))*maternIntegral(nu-1, x)
			if have := maternIntegral(nu+1, x); !(math.Abs(have-want) <= 2e-12*want) {
				t.Errorf("ν=%v t=%v: have %v, want %v", nu+1, x, have, want)
			}
		}
	}
}

func TestMaternIsOneAtZeroAndFalls(t *testing.T) {
	for _, nu := range smoothness {
		if k := matern(nu, 0); k != 1 {
			t.Errorf("ν=%v: K(0) = %v", nu, k)
		}
		last := 1.0
		for x := 1e-9; x < 1e4; x *= 1.7 {
			k := matern(nu, x)
			if !(k >= 0 && k <= last+1e-12) {
				t.Errorf("ν=%v: K(%v) = %v after %v", nu, x, k, last)
			}
			last = k
		}
	}
}

func TestMaternTendsToTheGaussian(t *testing.T) {
	off := func(nu float64) (most float64) {
		for r := 0.0; r < 6; r += 0.01 {
			most = max(most, math.Abs(matern(nu, math.Sqrt(2*nu)*r)-math.Exp(-r*r/2)))
		}
		return most
	}
	if o := off(maxNu); !(o < 0.0025) {
		t.Errorf("at ν=%v off by %v", maxNu, o)
	}
	if a, b := off(50), off(100); !(math.Abs(a/b-2) < 0.1) { // first order in 1/ν
		t.Errorf("off by %v at ν=50 and %v at ν=100", a, b)
	}
}

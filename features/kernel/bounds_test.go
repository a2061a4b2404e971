package kernel

import (
	"math"
	"strings"
	"testing"
)

// Bounds equal values that were computed from the formulas in Python; for Uniform the minimum over r was
// searched on a grid there instead of taken from the closed form.
func TestBoundsMatchTheirFormulas(t *testing.T) {
	for _, c := range []struct {
		bound      Bound
		eps, delta float64
		want       int
	}{
		{Uniform{true, 10, 5, 10}, 0.1, 0.05, 159568},
		{Uniform{true, 1, 3, 1}, 0.5, 0.1, 619},
		{Uniform{false, 10, 5, 10}, 0.1, 0.05, 654117},
		{Uniform{false, 1, 3, 1}, 0.5, 0.1, 2162},
		{Pairs{true, 1000}, 0.1, 0.05, 4239},
		{Pairs{false, 1000}, 0.1, 0.05, 8478},
	} {
		if n, err := Features(c.bound, c.eps, c.delta); n != c.want || err != nil {
			t.Errorf("%+v: %d, %v", c, n, err)
		}
	}
}

// Failure probabilities have the exponents of Propositions 1 and 2 of Sutherland and Schneider (2015):
// exp(−Dε²/(8(d+2))) with D paired features, exp(−Dε²/(32(d+1))) with D of the offset form.
func TestExponentsMatchThePropositions(t *testing.T) {
	const epsilon = 0.125
	for _, d := range []int{1, 10, 784} {
		for paired, want := range map[bool]float64{true: 8 * float64(d+2), false: 32 * float64(d+1)} {
			u := Uniform{paired, d, 5, 2 * float64(d)}
			at := func(features float64) float64 { return u.logFailure(features, epsilon) }
			few := 1e3 * want // so that r is not at its end
			if got := epsilon * epsilon * few / (at(few) - at(2*few)); math.Abs(got-want) > 1e-9*want {
				t.Errorf("d = %d, paired %v: exp(−Dε²/%.6g), want %g", d, paired, got, want)
			}
		}
	}
}

// Features and Epsilon return the values at which the bound reaches δ.
func TestFeaturesAndEpsilonInvertTheBound(t *testing.T) {
	for _, eps := range []float64{0.03, 0.2, 1} {
		for _, delta := range []float64{1e-9, 0.01, 0.5} {
			for _, d := range []int{1, 20, 784} {
				for _, b := range []Bound{Uniform{true, d, 7, 3 * float64(d)}, Uniform{false, d, 7, 3 * float64(d)},
					Pairs{true, int64(d)}, Pairs{false, int64(d)}} {
					n, err := Features(b, eps, delta)
					if err != nil {
						t.Fatal(err)
					}
					at, before := math.Exp(b.logFailure(float64(n), eps)), math.Exp(b.logFailure(float64(n-1), eps))
					if !(at <= delta && before > delta) {
						t.Errorf("ε=%v δ=%v %+v: D=%d fails with %v, D−1 with %v", eps, delta, b, n, at, before)
					}
					if e, err := Epsilon(b, n, delta); err != nil || e > eps || e < eps*(1-1/float64(n)) {
						t.Errorf("δ=%v %+v: D=%d has the error %v, want %v (%v)", delta, b, n, e, eps, err)
					}
				}
			}
		}
	}
}

func TestBoundsRejectInvalidArguments(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	ok := Uniform{true, 1, 1, 1}
	for _, c := range []struct {
		eps, delta float64
		bound      Bound
		want       string
	}{
		{0, 0.1, ok, "epsilon must be > 0"},
		{nan, 0.1, ok, "epsilon must be > 0"},
		{inf, 0.1, ok, "epsilon must be > 0"},
		{0.1, 0, ok, "delta must be between 0 and 1"},
		{0.1, 1, ok, "delta must be between 0 and 1"},
		{0.1, 0.1, Uniform{true, 0, 1, 1}, "row length must be > 0"},
		{0.1, 0.1, Uniform{true, 1, 0, 1}, "diameter must be > 0"},
		{0.1, 0.1, Uniform{true, 1, inf, 1}, "diameter must be > 0"},
		{0.1, 0.1, Uniform{true, 1, 1, inf},
			"no second moment (Laplace, exponential, and Matérn up to nu 1), so the uniform bound does not apply; use the bound of pairs"},
		{0.1, 0.1, Uniform{true, 1, 1, 0}, "second moment must be > 0"},
		{0.1, 0.1, Pairs{true, 0}, "pairs must be > 0"},
		{1e-9, 0.1, ok, "more than 1099511627776 features; raise epsilon"},
		{1e-9, 0.1, Pairs{true, 1}, "more than"},
	} {
		if n, err := Features(c.bound, c.eps, c.delta); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %d, %v", c, n, err)
		}
	}
	if e, err := Epsilon(ok, 0, 0.1); err == nil {
		t.Errorf("no features: %v", e)
	}
}

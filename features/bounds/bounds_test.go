package bounds

import (
	"math"
	"strings"
	"testing"
)

// The values are of the formulas, computed apart with Python's math module.
func TestBoundsAreTheFormulas(t *testing.T) {
	for _, c := range []struct {
		eps, delta       float64
		d                int
		diameter, moment float64
		want             int
	}{
		{0.1, 0.05, 10, 5, 10, 89605},
		{0.5, 0.1, 1, 3, 1, 549},
	} {
		if n, err := Uniform(c.eps, c.delta, c.d, c.diameter, c.moment); n != c.want || err != nil {
			t.Errorf("%+v: %d, %v", c, n, err)
		}
	}
	for _, c := range []struct {
		eps, delta, c float64
		want          int
	}{{0.1, 0.05, math.Sqrt2, 2952}, {0.1, 0.05, 1, 738}, {0.01, 1e-6, 1, 290174}, {100, 0.5, 1, 1}} {
		if n, err := Pointwise(c.eps, c.delta, c.c); n != c.want || err != nil {
			t.Errorf("%+v: %d, %v", c, n, err)
		}
	}
}

// Uniform is the least D at which Failure is δ.
func TestUniformIsWhereFailureReachesDelta(t *testing.T) {
	for _, eps := range []float64{0.03, 0.2, 1} {
		for _, delta := range []float64{1e-9, 0.01, 0.5} {
			for _, d := range []int{1, 20, 784} {
				n, err := Uniform(eps, delta, d, 7, 3*float64(d))
				if err != nil {
					t.Fatal(err)
				}
				at, err := Failure(n, eps, d, 7, 3*float64(d))
				if err != nil {
					t.Fatal(err)
				}
				before, err := Failure(n-1, eps, d, 7, 3*float64(d))
				if err != nil {
					t.Fatal(err)
				}
				if !(at <= delta && before > delta) {
					t.Errorf("ε=%v δ=%v d=%d: D=%d fails with %v, D−1 with %v", eps, delta, d, n, at, before)
				}
			}
		}
	}
	if p, err := Failure(1, 0.1, 10, 1, 1); p != 1 || err != nil {
		t.Errorf("a probability of %v (%v)", p, err)
	}
}

// Eq. (3) of the lecture: D = Ω((d/ε²)·ln(σ_p·diameter/ε)).
func TestUniformGrowsAsTheTheoremSays(t *testing.T) {
	at := func(eps float64, d int, diameter float64) float64 {
		n, err := Uniform(eps, 0.1, d, diameter, 1)
		if err != nil {
			t.Fatal(err)
		}
		return float64(n)
	}
	if r := at(0.01, 1998, 10) / at(0.01, 998, 10); math.Abs(r-2) > 1e-6 {
		t.Errorf("twice d+2 takes %v times as many", r)
	}
	if r := at(0.005, 10, 10) / at(0.01, 10, 20); math.Abs(r-4) > 1e-6 { // the same logarithm
		t.Errorf("half ε takes %v times as many", r)
	}
	if diff := at(0.01, 10, 10*math.E) - at(0.01, 10, 10); math.Abs(diff-2*4*12/1e-4) > 1 {
		t.Errorf("e times the diameter takes %v more", diff)
	}
}

func TestBoundsRefuseWhatTheyDoNotCover(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		eps, delta       float64
		d                int
		diameter, moment float64
		want             string
	}{
		{0, 0.1, 1, 1, 1, "epsilon must be > 0"},
		{nan, 0.1, 1, 1, 1, "epsilon must be > 0"},
		{inf, 0.1, 1, 1, 1, "epsilon must be > 0"},
		{0.1, 0, 1, 1, 1, "delta must be between 0 and 1"},
		{0.1, 1, 1, 1, 1, "delta must be between 0 and 1"},
		{0.1, 0.1, 0, 1, 1, "row length must be > 0"},
		{0.1, 0.1, 1, 0, 1, "diameter must be > 0"},
		{0.1, 0.1, 1, inf, 1, "diameter must be > 0"},
		{0.1, 0.1, 1, 1, inf, "no second moment (Laplace, and Matérn up to nu 1), so no uniform bound holds; use the pointwise one"},
		{0.1, 0.1, 1, 1, 0, "second moment must be > 0"},
		{1e-9, 0.1, 1, 1, 1, "more than 1099511627776 features; raise epsilon"},
		{1e-200, 0.1, 1, 1, 1, "more than"},
	} {
		if n, err := Uniform(c.eps, c.delta, c.d, c.diameter, c.moment); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %d, %v", c, n, err)
		}
	}
	for _, c := range []float64{0, -1, inf, nan} {
		if n, err := Pointwise(0.1, 0.1, c); err == nil {
			t.Errorf("features bounded by %v: %d", c, n)
		}
	}
	if p, err := Failure(0, 0.1, 1, 1, 1); err == nil {
		t.Errorf("no features: %v", p)
	}
}

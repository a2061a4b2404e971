package linear

import (
	"math"
	"testing"
)

func TestGridIsOffByHalfAStepAtMost(t *testing.T) {
	for _, g := range []TargetGrid{{0, 1}, {-5, 3}, {1e6, 1e6 + 1}, {-math.MaxFloat32, math.MaxFloat32},
		{0, 7 * math.SmallestNonzeroFloat32}} {
		if err := g.Validate(); err != nil {
			t.Fatal(err)
		}
		low, high := float64(g.Low), float64(g.High)
		for i := range 1001 {
			y := low + float64(float64(high-low)*float64(i)/1000)
			if math.IsInf(float64(high-low), 0) {
				y = float64(g.Low + (g.High-g.Low)*float64(i)/1000)
			}
			y = max(low, min(high, y))
			q := g.Quantize(y)
			if !g.Contains(y) || q < -maxTarget || q > maxTarget {
				t.Fatalf("%+v: %g goes to %d, is contained %v", g, y, q, g.Contains(y))
			}
			if e := math.Abs(g.Value(q) - float64(y)); e > 0.5*g.Step()*(1+1e-9) {
				t.Errorf("%+v: %g comes back %g off, half a step is %g", g, y, e, g.Step()/2)
			}
		}
		if q := g.Quantize(low); q != -maxTarget {
			t.Errorf("%+v: the low end goes to %d", g, q)
		}
		if q := g.Quantize(high); q != maxTarget {
			t.Errorf("%+v: the high end goes to %d", g, q)
		}
	}
}

func TestGridRoundsToEven(t *testing.T) {
	g := TargetGrid{Low: -maxTarget, High: maxTarget} // step 1
	for y, want := range map[float64]int32{0.5: 0, 1.5: 2, 2.5: 2, -0.5: 0, -1.5: -2, 2.75: 3} {
		if q := g.Quantize(y); q != want {
			t.Errorf("%g goes to %d, want %d", y, q, want)
		}
	}
}

func TestTargetsOutsideTheRangeAreClipped(t *testing.T) {
	g := TargetGrid{Low: -1, High: 2}
	for y, want := range map[float64]int32{-1.001: -maxTarget, 2.001: maxTarget, float64(math.Inf(1)): maxTarget,
		float64(math.Inf(-1)): -maxTarget} {
		if q := g.Quantize(y); q != want || g.Contains(y) {
			t.Errorf("%g goes to %d, is contained %v", y, q, g.Contains(y))
		}
	}
	one := TargetGrid{Low: 3, High: 3}
	if q := one.Quantize(3); q != 0 || !one.Contains(3) || one.Value(q) != 3 {
		t.Errorf("the only target goes to %d, is contained %v", q, one.Contains(3))
	}
}

func TestGridRejectsBoundsOutOfOrder(t *testing.T) {
	for _, g := range []TargetGrid{{1, 0}, {math.NaN(), 1}, {0, math.Inf(1)}, {math.Inf(-1), math.Inf(-1)}} {
		if g.Validate() == nil {
			t.Errorf("%+v is accepted", g)
		}
	}
}

func TestSpreadMatchesTheQuartiles(t *testing.T) {
	span := TargetGrid{Low: 0, High: 2000}
	scaled := []float32{1}
	for i := range 1000 {
		scaled = append(scaled, float32(i)/1000*0.01-1) // targets 0 to 10, except one of 2,000
	}
	if g := SpreadGrid(scaled, span); math.Abs(g.Mid()-5) > 0.05 || math.Abs(g.Half()-5/normalQuartiles) > 0.05 {
		t.Errorf("middle %g, half %g", g.Mid(), g.Half())
	}
	// More than half of the targets are equal; then all but one in a thousand.
	for i := range 700 {
		scaled[1+i] = -1
	}
	if g := SpreadGrid(scaled, span); g.Mid() != 0 || !(g.Half() > 0.5 && g.Half() < 10) {
		t.Errorf("of many equal targets: middle %g, half %g", g.Mid(), g.Half())
	}
	for i := range 1000 {
		scaled[1+i] = -1
	}
	if g := SpreadGrid(scaled, span); *g != span {
		t.Errorf("of targets that are all equal but one: %+v", g)
	}
}

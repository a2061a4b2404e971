package stattest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// recorder notes whether a check failed, in place of failing this test.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Errorf(f string, a ...any) { r.said = fmt.Sprintf(f, a...) }

func TestMeanAndStandardError(t *testing.T) {
	m := MeanOf([]float64{1, 2, 3, 6})
	if m.Value != 3 || m.N != 4 || math.Abs(m.SE-math.Sqrt(14.0/3/4)) > 1e-15 || math.Abs(m.Variance()-14.0/3) > 1e-14 {
		t.Errorf("%+v, variance %v", m, m.Variance())
	}
	if o := Over(4, func(s uint64) float64 { return float64([]int{1, 2, 3, 6}[s-1]) }); o != m {
		t.Errorf("over seeds %+v, of values %+v", o, m)
	}
}

func TestNearFailsBeyondFourErrors(t *testing.T) {
	m := Mean{Value: 1, SE: 0.1, N: 10}
	for _, c := range []struct {
		want, bias float64
		fails      bool
	}{{1.39, 0, false}, {0.61, 0, false}, {1.41, 0, true}, {0.59, 0, true}, {1.41, 0.02, false}, {math.NaN(), 0, true}} {
		r := &recorder{TB: t}
		m.Near(r, "x", c.want, c.bias)
		if (r.said != "") != c.fails {
			t.Errorf("want %v, bias %v: said %q", c.want, c.bias, r.said)
		}
	}
}

func TestKSSeparatesNearbyDistributions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 10000
	same, other := make([]float64, n), make([]float64, n)
	for i := range n {
		same[i] = rng.Float64()
		other[i] = math.Pow(rng.Float64(), 1.1)
	}
	id := func(x float64) float64 { return x }
	if ks := KS(same, id); !(ks < 1.95) {
		t.Errorf("a uniform sample has KS %.2f", ks)
	}
	if ks := KS(other, id); !(ks > 2.36) {
		t.Errorf("u^1.1 has KS %.2f against the uniform distribution", ks)
	}
	// One point at ½: the empirical distribution jumps from 0 to 1 there.
	if ks := KS([]float64{0.5}, id); ks != 0.5 {
		t.Errorf("one point: %v", ks)
	}
}

package stream

import (
	"math"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/stattest"
	"gonum.org/v1/gonum/mathext"
)

func TestNumbersHaveTheirDistributions(t *testing.T) {
	gamma := func(shape float64) func(*Stream) float64 {
		return func(s *Stream) float64 { return s.Gamma(shape) }
	}
	gammaCDF := func(shape float64) func(float64) float64 {
		return func(x float64) float64 { return mathext.GammaIncReg(shape, x) }
	}
	for _, c := range []struct {
		name string
		draw func(*Stream) float64
		cdf  func(float64) float64
	}{
		{"uniform", (*Stream).Uniform, func(x float64) float64 { return x }},
		{"normal", (*Stream).Normal, func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }},
		{"cauchy", (*Stream).Cauchy, func(x float64) float64 { return 0.5 + math.Atan(x)/math.Pi }},
		{"laplace", (*Stream).Laplace, func(x float64) float64 {
			if x < 0 {
				return math.Exp(x) / 2
			}
			return 1 - math.Exp(-x)/2
		}},
		{"stable 1/2", func(s *Stream) float64 { return math.Exp(s.LogStable(0.5)) },
			func(x float64) float64 { return math.Erfc(0.5 / math.Sqrt(x)) }},
		{"gamma 1/2", gamma(0.5), gammaCDF(0.5)},
		{"gamma 3/4", gamma(0.75), gammaCDF(0.75)},
		{"gamma 1", gamma(1), gammaCDF(1)},
		{"gamma 5/2", gamma(2.5), gammaCDF(2.5)},
		{"gamma 60", gamma(60), gammaCDF(60)},
	} {
		// Along one stream, and across the first numbers of many.
		along, across := make([]float64, 100000), make([]float64, 100000)
		s := New(1, PurposeOf("ks"), 0)
		for i := range along {
			along[i] = c.draw(s)
			across[i] = c.draw(New(2, PurposeOf("ks"), uint64(i)))
		}
		if ks := stattest.KS(along, c.cdf); !(ks < 1.95) {
			t.Errorf("%s along a stream: KS %.2f", c.name, ks)
		}
		if ks := stattest.KS(across, c.cdf); !(ks < 1.95) {
			t.Errorf("%s across streams: KS %.2f", c.name, ks)
		}
	}
}

func TestNeighboursAreUncorrelated(t *testing.T) {
	const n = 50000
	index, seed, purpose, within := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		s := New(3, PurposeOf("a"), uint64(i))
		x := s.Normal()
		within[i] = x * s.Normal()
		index[i] = x * New(3, PurposeOf("a"), uint64(i+n)).Normal()
		seed[i] = x * New(4, PurposeOf("a"), uint64(i)).Normal()
		purpose[i] = x * New(3, PurposeOf("b"), uint64(i)).Normal()
	}
	stattest.MeanOf(within).Near(t, "within a stream", 0, 0)
	stattest.MeanOf(index).Near(t, "other index", 0, 0)
	stattest.MeanOf(seed).Near(t, "other seed", 0, 0)
	stattest.MeanOf(purpose).Near(t, "other purpose", 0, 0)
}

func TestBelowIsUniform(t *testing.T) {
	const n, draws = 7, 70000
	var count [n]float64
	s := New(5, PurposeOf("below"), 0)
	for range draws {
		count[s.Below(n)]++
	}
	var chi float64
	for _, c := range count {
		chi += (c - draws/n) * (c - draws/n) / (draws / n)
	}
	if chi > 22.5 { // the 99.9% point for 6 degrees of freedom
		t.Errorf("χ² = %.1f, counts %v", chi, count)
	}
}

func TestElementaryFunctionsAreAccurate(t *testing.T) {
	ulps := func(have, want float64) float64 {
		return math.Abs(have-want) / (math.Nextafter(math.Abs(want), math.Inf(1)) - math.Abs(want))
	}
	s := New(6, PurposeOf("accuracy"), 0)
	for range 200000 {
		u := s.Uniform()
		x := math.Ldexp(u, int(s.Below(120))-60)
		if e := ulps(log(x), math.Log(x)); e > 2 {
			t.Fatalf("log(%x) is %.1f ulp off", x, e)
		}
		x = u * math.Pi / 4
		want := math.Tan(x)
		if x < 1e-5 { // where math.Tan returns x, 4 ulp off
			want = x + x*x*x/3
		}
		if e := ulps(tan(x), want); e > 3 {
			t.Fatalf("tan(%x) is %.1f ulp off", x, e)
		}
		// The distribution function inverts the quantile.
		p := math.Ldexp(u, -int(s.Below(50)))
		z := quantile(p, p-0.5)
		// An ulp of z is about z² ulps of its probability.
		if back := math.Erfc(-z/math.Sqrt2) / 2; math.Abs(back-p) > 1e-15*(1+z*z)*p {
			t.Fatalf("quantile(%g) = %g, whose probability is %g", p, z, back)
		}
	}
}

func TestExtremesAreFinite(t *testing.T) {
	least, most := 0x1p-53, 1-0x1p-53
	for _, q := range []float64{least - 0.5, most - 0.5} {
		if z := quantile(q+0.5, q); math.Abs(z) > 8.21 || math.Abs(z) < 8.2 {
			t.Errorf("normal at q=%v: %v", q, z)
		}
	}
	if x := 1 / tan(float64(math.Pi*least)); !(x < 2.9e15) {
		t.Errorf("cauchy: %v", x)
	}
	if x := -log(2 * least); !(x < 36.1) {
		t.Errorf("laplace: %v", x)
	}
}

func TestStableNumbersHaveTheirLaplaceTransform(t *testing.T) {
	for _, index := range []float64{0.25, 0.35, 0.5, 0.7, 0.95} {
		for _, at := range []float64{0.1, 1, 5} {
			s, means := New(5, PurposeOf("stable"), 0), make([]float64, 100000)
			for i := range means {
				means[i] = math.Exp(-at * math.Exp(s.LogStable(index)))
			}
			stattest.MeanOf(means).Near(t, "E exp(−tS)", math.Exp(-math.Pow(at, index)), 0)
		}
	}
}

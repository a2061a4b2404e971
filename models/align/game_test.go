package align

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/blas"
)

// rings returns rows in the plane. Their classes alternate with the distance from the origin.
func rings(n int, seed uint64) (x []float32, class []int32, y []float32) {
	x = normals(2*n, 1, seed)
	class, y = make([]int32, n), make([]float32, n)
	for i := range n {
		class[i] = int32(2*math.Hypot(float64(x[2*i]), float64(x[2*i+1]))) % 2
		y[i] = float32(2*class[i] - 1)
	}
	return x, class, y
}

// cosines returns features of r/2 random frequencies, r for each row.
func cosines(x []float32, n, r int) []float32 {
	w := normals(r, 0.3, 99)
	z := make([]float32, n*r)
	blas.Pack(w, nil, r/2, 2).CosSin(z, x, n, 1, 1)
	return z
}

func small(frequencies int) Options {
	o := PaperOptions(0.05, 1, frequencies, 1)
	o.Take = 1
	o.Search.Chains, o.Search.Steps = 20, 15
	return o
}

// Theorem 4.1 of Bullins, Zhang & Zhang (2018): max_α F(α, λ̂) is within O(1/√T) of the value of
// the game if the kernel player always answers with the best frequency.
func TestGapClosesAsOneOverRootT(t *testing.T) {
	const n, r = 300, 60
	x, class, _ := rings(n, 1)
	z := cosines(x, n, r)
	var logT, logGap []float64
	chosen, err := choose(Rows{z, r, class, 2}, small(2000), func(p Report) {
		if p.Round >= 20 {
			logT, logGap = append(logT, math.Log(float64(p.Round))), append(logGap, math.Log(p.Upper-p.Lower))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	slope := regress(logT, logGap)
	first, last := chosen.Reports[19], chosen.Reports[1999]
	t.Logf("slope %.3f; T = 20: %.3f to %.3f, T = 2000: %.3f to %.3f", slope, first.Lower, first.Upper, last.Lower,
		last.Upper)
	if slope > -0.4 || slope < -1.1 {
		t.Errorf("the gap falls as T^%.3f", slope)
	}
}

func regress(x, y []float64) float64 {
	var mx, my, xy, xx float64
	for i := range x {
		mx += x[i] / float64(len(x))
		my += y[i] / float64(len(y))
	}
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
	}
	return xy / xx
}

// Upper is a bound on max_α F(α, q̂), which a quadratic program computes here. Lower is a bound on
// the value of the best measure, which is not larger.
func TestCertificateBoundsTheValueOfItsMeasure(t *testing.T) {
	const n, r = 300, 60
	x, class, y := rings(n, 2)
	z := cosines(x, n, r)
	before := math.Inf(1)
	for _, rounds := range []int{10, 100, 1000} {
		o := small(rounds)
		chosen, err := choose(Rows{z, r, class, 2}, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		phi := slices.Clone(z)
		for i := range phi {
			phi[i] *= float32(math.Sqrt(float64(chosen.Count[i%r]) / float64(rounds)))
		}
		lower, upper := value(phi, n, r, y, o.Lambda, 3000)
		if lower > upper || upper-lower > 1e-3*upper {
			t.Errorf("T = %d: the quadratic program ends between %v and %v", rounds, lower, upper)
		}
		last := chosen.Reports[len(chosen.Reports)-1]
		t.Logf("T = %d: certificate %.4f to %.4f, value of the measure %.4f to %.4f", rounds, last.Lower, last.Upper,
			lower, upper)
		if lower > last.Upper || upper < last.Lower {
			t.Errorf("T = %d: the value %v to %v of the measure is outside %v to %v", rounds, lower, upper, last.Lower,
				last.Upper)
		}
		if upper > before {
			t.Errorf("T = %d: the value %v is above the value %v of fewer rounds", rounds, upper, before)
		}
		before = upper
	}
}

func TestSteadyRatesAndAlternationsHaveNoUpperBound(t *testing.T) {
	x, class, _ := rings(200, 3)
	for _, change := range []func(*Options){func(o *Options) { o.Steady = true },
		func(o *Options) { o.Alternations = 10 }} {
		o := small(3)
		change(&o)
		r, err := Learn(Rows{x, 2, class, 2}, o, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if last := r.Reports[2]; last.Proven || last.Upper != 0 || last.Lower == 0 {
			t.Errorf("%+v", last)
		}
	}
}

func TestLearningLowersThePotential(t *testing.T) {
	x, class, y := rings(1500, 4)
	o := small(60)
	r, err := Learn(Rows{x, 2, class, 2}, o, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, last := r.Reports[0], r.Reports[len(r.Reports)-1]
	if last.Best > first.Best/2 {
		t.Errorf("the best potential goes from %v to %v", first.Best, last.Best)
	}
	for i, p := range r.Reports {
		if !p.Proven || p.Value > p.Upper || p.Best <= 0 || !(p.Zeta > 0) {
			t.Errorf("round %d: %+v", i, p)
		}
	}
	xt, _, yt := rings(4000, 5)
	learned := judge(r.W, 60, x, y, xt, yt)
	drawn := judge(gaussianTurns(60, 2, medianDistance(x, 400, 2), 6), 60, x, y, xt, yt)
	t.Logf("accuracy with 60 frequencies: learned %.2f%%, drawn %.2f%%", learned, drawn)
	if learned < drawn+2 {
		t.Errorf("accuracy %.2f%% with learned frequencies, %.2f%% with drawn ones", learned, drawn)
	}
}

// judge returns the accuracy of a linear support vector machine on paired features.
func judge(w []float32, m int, x, y, xt, yt []float32) float64 {
	d, n, nt := len(w)/m, len(y), len(yt)
	u, b := hinge(pairedFeatures(w, m, d, x, n), n, 2*m, y, float64(m), 50)
	return accuracy(u, b, pairedFeatures(w, m, d, xt, nt), nt, 2*m, yt)
}

func TestResultsDoNotDependOnThreads(t *testing.T) {
	const n, d = 1300, 3
	x := normals(n*d, 1, 7)
	class := make([]int32, n)
	for i := range class {
		class[i] = int32(i % 3)
	}
	o := small(4)
	o.Take, o.Sample = 3, 500
	one, err := Learn(Rows{x, d, class, 3}, o, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	two, err := Learn(Rows{x, d, class, 3}, o, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(one.W, two.W) || !slices.Equal(one.Dual.Alpha, two.Dual.Alpha) ||
		!slices.Equal(one.Reports, two.Reports) {
		t.Error("the result differs between one thread and two")
	}
	if len(one.W) != 4*d || one.Dual.K != 3 {
		t.Errorf("%d numbers, %d weightings", len(one.W), one.Dual.K)
	}
	for k := range 3 {
		alpha, y := one.Dual.Row(k)
		if r := residual(alpha, y); math.Abs(r) > 1e-9*n {
			t.Errorf("class %d: Σ y α = %g", k, r)
		}
	}
}

// The dual weights move along g = ∂(nF)/∂α.
func TestAscentIsAlongTheGradient(t *testing.T) {
	const n, r, lambda = 50, 6, 0.1
	x, class, _ := rings(n, 8)
	z := cosines(x, n, r)
	objective := func(d *Dual) float64 {
		sums, v := make([]float64, r), make([]float64, r)
		d.addSums(sums, z, 0)
		potentials(v, sums, r, n)
		var all float64
		for _, p := range v {
			all += p
		}
		return d.mean() - all/(2*lambda)
	}
	dual := newDual(class, 2, 0.3)
	sums, u := make([]float64, r), make([]float32, r)
	dual.addSums(sums, z, 0)
	for j := range u {
		u[j] = float32(sums[j] / n / lambda)
	}
	moved := &Dual{N: n, K: 1, Alpha: slices.Clone(dual.Alpha), Y: dual.Y}
	moved.ascend(1, u, z, 0)
	for i := range n {
		const h = 1e-2 // differences of a quadratic objective are exact, except for float32 rounding
		g := moved.Alpha[i] - dual.Alpha[i]
		at := dual.Alpha[i]
		dual.Alpha[i] = at + h
		up := objective(dual)
		dual.Alpha[i] = at - h
		down := objective(dual)
		dual.Alpha[i] = at
		if want := n * (up - down) / (2 * h); math.Abs(g-want) > 1e-3 {
			t.Errorf("row %d: gradient %v, difference quotient %v", i, g, want)
		}
	}
}

func TestOptionErrorsNameTheOption(t *testing.T) {
	x, class, _ := rings(20, 9)
	for want, change := range map[string]func(*Options){
		"lambda must be":      func(o *Options) { o.Lambda = 0 },
		"frequencies must be": func(o *Options) { o.Frequencies = 0 },
		"take must be":        func(o *Options) { o.Take = 0 },
		"rate must be":        func(o *Options) { o.Rate = math.NaN() },
		"start must be":       func(o *Options) { o.Start = 2 },
		"chains must be":      func(o *Options) { o.Search.Chains = 0 },
		"width must be":       func(o *Options) { o.Search.Width = math.Inf(1) },
		"noise must be":       func(o *Options) { o.Search.Noise = -1 },
	} {
		o := small(2)
		change(&o)
		if _, err := Learn(Rows{x, 2, class, 2}, o, 1, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := Learn(Rows{x, 2, make([]int32, 20), 2}, small(2), 1, nil); err == nil ||
		!strings.Contains(err.Error(), "one class") {
		t.Error(err)
	}
	if _, err := Learn(Rows{x, 2, class, 1}, small(2), 1, nil); err == nil {
		t.Error("one class is accepted")
	}
}

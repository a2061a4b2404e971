package loss

import (
	"math"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
)

var tests = stream.PurposeOf("loss test")

// scalars calls f for every scalar loss and every kind of label it has.
func scalars(t *testing.T, f func(t *testing.T, l Scalar, label func(*stream.Stream) float64)) {
	for _, e := range table {
		if e.scalar == nil {
			continue
		}
		if e.classes {
			t.Run(e.name+"/classes", func(t *testing.T) {
				f(t, e.scalar(0.3), func(r *stream.Stream) float64 { return 1 - 2*float64(r.Below(2)) })
			})
		}
		if e.targets {
			t.Run(e.name+"/targets", func(t *testing.T) {
				f(t, e.scalar(0.3), func(r *stream.Stream) float64 { return 2*r.Uniform() - 1 })
			})
		}
	}
}

// dual returns a number of the domain of the dual variable.
func dual(l Scalar, r *stream.Stream, y float64) float64 {
	return -l.Slope(y, 3*r.Normal()) * r.Uniform()
}

func TestSlopesMatchDifferences(t *testing.T) {
	scalars(t, func(t *testing.T, l Scalar, label func(*stream.Stream) float64) {
		for i := range uint64(300) {
			r := stream.New(1, tests, i)
			y, s := label(r), 2*r.Normal()
			const h = 1e-5
			left, right := l.Slope(y, s-h), l.Slope(y, s+h)
			if right < left {
				t.Fatalf("not convex at y = %g, s = %g", y, s)
			}
			if math.IsInf(l.Smooth(), 1) && right != left {
				continue // a kink lies between
			}
			got, want := l.Slope(y, s), (l.Value(y, s+h)-l.Value(y, s-h))/(2*h)
			if math.Abs(got-want) > 1e-5 {
				t.Fatalf("slope %g at y = %g, s = %g; differences say %g", got, y, s, want)
			}
			if most := l.Smooth() * 2 * h; right-left > most*(1+1e-6) {
				t.Fatalf("slope changes by %g, at most %g for a smoothness of %g", right-left, most, l.Smooth())
			}
		}
	})
}

func TestSmoothnessIsReached(t *testing.T) {
	scalars(t, func(t *testing.T, l Scalar, label func(*stream.Stream) float64) {
		if math.IsInf(l.Smooth(), 1) {
			return
		}
		most := 0.0
		for i := range 4001 {
			s := float64(i-2000) / 1000
			most = max(most, (l.Slope(1, s+1e-4)-l.Slope(1, s))/1e-4)
		}
		if most < 0.999*l.Smooth() {
			t.Errorf("largest change of the slope is %g, said to be %g", most, l.Smooth())
		}
	})
}

func TestLossesSatisfyFenchelYoung(t *testing.T) {
	scalars(t, func(t *testing.T, l Scalar, label func(*stream.Stream) float64) {
		for i := range uint64(2000) {
			r := stream.New(2, tests, i)
			y, s := label(r), 2*r.Normal()
			u := -dual(l, r, y)
			if gap := l.Value(y, s) + l.Conjugate(y, u) - u*s; !(gap >= -1e-12) || math.IsInf(gap, 1) {
				t.Fatalf("ℓ + ℓ* − us = %g at y = %g, s = %g, u = %g", gap, y, s, u)
			}
			u = l.Slope(y, s)
			if gap := l.Value(y, s) + l.Conjugate(y, u) - u*s; math.Abs(gap) > 1e-12*(1+math.Abs(s)) {
				t.Fatalf("ℓ + ℓ* − us = %g at the slope, y = %g, s = %g", gap, y, s)
			}
		}
	})
}

func TestConjugateIsInfiniteOutsideItsDomain(t *testing.T) {
	for _, c := range []struct {
		l Scalar
		u []float64
	}{
		{logistic{}, []float64{1e-9, -1.001}}, {hinge{}, []float64{1e-9, -1.001}}, {squaredHinge{}, []float64{1e-9}},
		{huber{0.3}, []float64{0.301, -0.301}}, {insensitive{0.3}, []float64{1.001, -1.001}},
	} {
		for _, u := range append(c.u, math.NaN()) {
			if v := c.l.Conjugate(1, u); !math.IsInf(v, 1) {
				t.Errorf("%T: conjugate %g at %g", c.l, v, u)
			}
		}
	}
}

// The dual step is at least as good as the best point of a fine grid near it and of the whole domain.
func TestStepMaximisesTheDual(t *testing.T) {
	scalars(t, func(t *testing.T, l Scalar, label func(*stream.Stream) float64) {
		for i := range uint64(400) {
			r := stream.New(3, tests, i)
			y, s := label(r), 2*r.Normal()
			a, q := dual(l, r, y), math.Exp(3*r.Normal())
			if i%10 == 0 {
				a = 0
			}
			value := func(b float64) float64 {
				return -l.Conjugate(y, -b) - (b-a)*s - q/2*(b-a)*(b-a)
			}
			best := l.Step(y, s, a, q)
			top := value(best)
			if math.IsNaN(top) || math.IsInf(top, 0) {
				t.Fatalf("step to %g, value %g", best, top)
			}
			for n := -4000; n <= 4000; n++ {
				for _, b := range [2]float64{best + float64(n)*1e-5, float64(n) * 1e-3} {
					if v := value(b); v > top+1e-12*(1+math.Abs(top)) {
						t.Fatalf("y = %g, s = %g, a = %g, q = %g: step to %g has %.15g, %g has %.15g", y, s, a, q, best, top, b, v)
					}
				}
			}
		}
	})
}

func TestStepOfARowOfZerosIsFeasible(t *testing.T) {
	scalars(t, func(t *testing.T, l Scalar, label func(*stream.Stream) float64) {
		for i := range uint64(50) {
			r := stream.New(4, tests, i)
			y := label(r)
			a := l.Step(y, 0, 0, 0)
			// Without weight, the row's own gap closes.
			if g := l.Value(y, 0) + l.Conjugate(y, -a); !(g <= 1e-12) {
				t.Fatalf("y = %g: gap %g after the step to %g", y, g, a)
			}
		}
	})
}

func TestSoftmaxOfTwoIsLogistic(t *testing.T) {
	l, err := newLoss("softmax", true, 0)
	if err != nil {
		t.Fatal(err)
	}
	slopes := make([]float32, 2)
	for i := range uint64(200) {
		r := stream.New(5, tests, i)
		s := []float32{float32(5 * r.Normal()), float32(5 * r.Normal())}
		d := float64(s[0]) - float64(s[1])
		if got, want := l.Row(slopes, s, 0), (logistic{}).Value(1, d); math.Abs(got-want) > 1e-14*(1+math.Abs(d)) {
			t.Fatalf("value %g, want %g", got, want)
		}
		if want := (logistic{}).Slope(1, d); math.Abs(float64(slopes[0])-want) > 1e-7*math.Abs(want) ||
			slopes[1] != -slopes[0] {
			t.Fatalf("slopes %g, want %g", slopes, want)
		}
	}
}

func TestSoftmaxSatisfiesFenchelYoungAndMatchesDifferences(t *testing.T) {
	l, _ := newLoss("softmax", true, 0)
	const k = 5
	for i := range uint64(200) {
		r := stream.New(6, tests, i)
		s, slopes := make([]float32, k), make([]float32, k)
		for c := range s {
			s[c] = float32(2 * r.Normal())
		}
		y := int(r.Below(k))
		value := l.Row(slopes, s, float32(y))
		u, v := make([]float64, k), make([]float64, k)
		var atSlope, at, sum float64
		for c := range u {
			v[c] = r.Uniform()
			sum += v[c]
		}
		for c := range u {
			u[c] = float64(slopes[c])
			v[c] /= sum
			if c == y {
				v[c]--
			}
			atSlope += u[c] * float64(s[c])
			at += v[c] * float64(s[c])
			const h = 1.0 / 64
			up, down := append([]float32(nil), s...), append([]float32(nil), s...)
			up[c] += h
			down[c] -= h
			d := (l.Row(nil, up, float32(y)) - l.Row(nil, down, float32(y))) / (float64(up[c]) - float64(down[c]))
			if math.Abs(d-u[c]) > 1e-4 {
				t.Fatalf("slope %g, differences say %g", u[c], d)
			}
		}
		if gap := value + softmaxConjugate(y, u, 1e-6) - atSlope; math.Abs(gap) > 1e-5 {
			t.Fatalf("ℓ + ℓ* − us = %g at the slope", gap)
		}
		if gap := value + softmaxConjugate(y, v, 1e-9) - at; gap < 0 || math.IsInf(gap, 1) {
			t.Fatalf("ℓ + ℓ* − us = %g", gap)
		}
	}
	if !math.IsInf(softmaxConjugate(0, []float64{0.1, -0.1}, 1e-9), 1) ||
		!math.IsInf(softmaxConjugate(0, []float64{0, 0.1}, 1e-9), 1) {
		t.Error("conjugate is finite off the simplex")
	}
}

// softmaxConjugate returns the conjugate of the softmax loss of class y,
// Σ p_c log p_c for p = u + e_y on the simplex and +Inf elsewhere, which is where
// a p is negative or their sum is further than tol from 1.
func softmaxConjugate(y int, u []float64, tol float64) float64 {
	var sum, value float64
	for c, p := range u {
		if c == y {
			p++
		}
		if p < 0 {
			return math.Inf(1)
		}
		sum += p
		value += entropy(p)
	}
	if math.Abs(sum-1) > tol {
		return math.Inf(1)
	}
	return value
}

func TestLossesOfScoresTooLargeForExpAreFinite(t *testing.T) {
	for _, name := range Names(true) {
		l, _ := newLoss(name, true, 0)
		slopes := make([]float32, 3)
		if v := l.Row(slopes, []float32{1e4, -1e4, 0}, 1); math.IsNaN(v) || math.IsInf(v, 0) || v < 1e4 {
			t.Errorf("%s: %g", name, v)
		}
		for _, s := range slopes {
			if s != s {
				t.Errorf("%s: slopes %g", name, slopes)
			}
		}
	}
}

func TestNewLossRejectsInvalidArguments(t *testing.T) {
	for _, c := range []struct {
		name    string
		classes bool
		epsilon float64
		want    string
	}{
		{"hinge", false, 0, "hinge is for classes; for targets use one of squared, huber"},
		{"huber", true, 0, "huber is for targets"},
		{"hnge", true, 0, `did you mean "hinge"`},
		{"huber", false, -1, "epsilon is -1"},
		{"huber", false, 0, "epsilon above 0"},
		{"huber", false, math.NaN(), "epsilon"},
	} {
		if _, err := newLoss(c.name, c.classes, c.epsilon); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	l, err := newLoss("huber", false, 0.05)
	if err != nil || l.Scalar != (huber{0.05}) || l.classes || l.Code(0.25, 3) != 0.25 {
		t.Errorf("%+v, %v", l, err)
	}
	if l, _ := newLoss("squared", true, 0); l.Code(2, 2) != 1 || l.Code(2, 1) != -1 || l.Smooth() != 1 {
		t.Error("codes of classes")
	}
}

func TestElementaryFunctionsMatchMath(t *testing.T) {
	ulps := func(a, b float64) float64 {
		if a == b {
			return 0
		}
		return math.Abs(a-b) / (math.Nextafter(math.Abs(b), math.Inf(1)) - math.Abs(b))
	}
	for i := range uint64(20000) {
		r := stream.New(7, tests, i)
		x := r.Normal() * math.Exp(3*r.Normal())
		if math.Abs(x) < 700 && ulps(blas.Exp(x), math.Exp(x)) > 3 {
			t.Fatalf("Exp(%g) = %g, want %g", x, blas.Exp(x), math.Exp(x))
		}
		p := math.Exp(20 * r.Normal())
		if ulps(Log(p), math.Log(p)) > 3 && math.Abs(Log(p)-math.Log(p)) > 1e-16 {
			t.Fatalf("Log(%g) = %g, want %g", p, Log(p), math.Log(p))
		}
		if want := max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))); math.Abs(x) < 700 && ulps(Softplus(x), want) > 6 {
			t.Fatalf("Softplus(%g) = %g, want %g", x, Softplus(x), want)
		}
	}
	for x, want := range map[float64]float64{-800: 0, 800: math.Inf(1), 0: 1, math.Inf(-1): 0, 709.7: math.Exp(709.7)} {
		if got := blas.Exp(x); ulps(got, want) > 3 && got != want {
			t.Errorf("Exp(%g) = %g", x, got)
		}
	}
	if blas.Exp(math.NaN()) == blas.Exp(math.NaN()) || Log(1) != 0 || Sigmoid(-800) != 0 || Sigmoid(800) != 1 {
		t.Error("special cases")
	}
}

func BenchmarkLogisticStep(b *testing.B) {
	a := 0.0
	for b.Loop() {
		a = logistic{}.Step(1, 0.3, a, 0.7)
	}
}

func BenchmarkSoftmaxOfTen(b *testing.B) {
	l, _ := newLoss("softmax", true, 0)
	s, g := make([]float32, 10), make([]float32, 10)
	for b.Loop() {
		l.Row(g, s, 3)
	}
}

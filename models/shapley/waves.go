package shapley

import (
	"math"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/agop"
)

// waves are Fourier features: the factors of frequency ω are e^{iω_g·y_g}.
type waves struct{ *agop.Waves }

func newWaves(w *agop.Waves) waves {
	for i := range w.W { // in units of 2π, so that angles need no division
		w.W[i] /= 2 * math.Pi
	}
	return waves{w}
}

func (w waves) size() (in, count int) { return w.In, w.Count }

func (w waves) factors(dst []phasor, stride int, y []float32, numbers []int, turns []float64) {
	clear(turns)
	for _, i := range numbers {
		if v := float64(y[i]); v != 0 {
			for j, f := range w.W[i*w.Count : (i+1)*w.Count] {
				turns[j] += float64(v * f)
			}
		}
	}
	for j, u := range turns {
		dst[j*stride] = turn(u)
	}
}

func (w waves) coefficient(weights []float32, j int) phasor {
	amplitude := float64(w.Amplitude[j])
	if w.Offsets == nil {
		return phasor{float64(weights[j]), -float64(weights[w.Count+j])}.scaled(amplitude)
	}
	return turn(float64(w.Offsets[j])).scaled(amplitude * float64(weights[j]))
}

// fewPoints is the number of points that are tried first. They are exact for up to 64 columns.
const fewPoints = 32

// rule is a Gauss–Legendre rule on [0, 1]: n points, exact for polynomials of degree up to 2n−1.
type rule struct{ at, weight []float64 }

// newRule finds the roots of the Legendre polynomial P_n by Newton's method.
func newRule(n int) rule {
	r := rule{make([]float64, n), make([]float64, n)}
	for i := range n {
		x := turn((float64(i) + 0.75) / (2*float64(n) + 1)).re
		var slope float64
		for range 20 { // quadratic convergence from an error of order n⁻²
			p, before := 1.0, 0.0
			for k := 1; k <= n; k++ {
				p, before = (float64(float64(2*k-1)*float64(x*p))-float64(float64(k-1)*before))/float64(k), p
			}
			slope = float64(n) * (float64(x*p) - before) / (float64(x*x) - 1)
			step := p / slope
			x -= step
			if math.Abs(step) < 1e-16 {
				break
			}
		}
		r.at[i] = (1 - x) / 2
		r.weight[i] = 1 / float64((1-float64(x*x))*float64(slope*slope))
	}
	return r
}

// integrate adds to s.parts, for each g, the integral of the product of t·a_h + (1−t)·b_h over all h ≠ g.
// It multiplies from both ends.
func (r rule) integrate(s *scratch, a, b []phasor) {
	n := len(a)
	blas.Grow(&s.factors, n)
	blas.Grow(&s.partial, n)
	factors, partial, parts := s.factors[:n], s.partial[:n], s.parts[:n]
	for i, t := range r.at {
		product := phasor{r.weight[i], 0}
		for g := range n {
			f := b[g].plus(a[g].minus(b[g]).scaled(t))
			partial[g], factors[g] = product, f
			product = product.times(f)
		}
		product = phasor{1, 0}
		for g := n - 1; g >= 0; g-- {
			parts[g] = parts[g].plus(partial[g].times(product))
			product = product.times(factors[g])
		}
	}
}

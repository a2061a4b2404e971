package ridge

import (
	"math"
	"slices"
	"testing"
)

// leverages are φᵀA⁻¹φ by elimination, of some centred rows, for the normal equations A of others.
func (s *sample) leverages(rows []int, lambda float64, of []int) []float64 {
	d, n := s.shape.Dim, float64(len(rows))
	mean, a, own := make([]float64, d), make([][]float64, d), make([][]float64, len(of))
	for _, r := range rows {
		for j, v := range s.phi(r) {
			mean[j] += v / n
		}
	}
	for k, i := range of {
		own[k] = s.phi(i)
	}
	for j := range a {
		a[j] = make([]float64, d+len(of))
		a[j][j] = n * lambda
		for k := range of {
			own[k][j] -= mean[j]
			a[j][d+k] = own[k][j]
		}
	}
	for _, r := range rows {
		phi := s.phi(r)
		for j := range phi {
			phi[j] -= mean[j]
		}
		for j, v := range phi {
			for l, u := range phi {
				a[j][l] += v * u
			}
		}
	}
	eliminate(a)
	sums := make([]float64, len(of))
	for k := range of {
		for j := range a {
			sums[k] += own[k][j] * a[j][d+k]
		}
	}
	return sums
}

// of is the novelty of row i.
func (m *Sketch) of(s *sample, i int) (sum float64) {
	phi := s.phi(i)
	for k, b := range m.Linear.B {
		t := float64(b)
		for j, w := range m.Linear.W[k*len(phi):][:len(phi)] {
			t += float64(w) * phi[j]
		}
		sum += t * t
	}
	return sum
}

// The squares of a sketch sum to the leverage: exactly if there are as many as features, otherwise nearly, with
// a mean of 1 over the rows. Without the first fold they sum to the leverage in a fit to the other rows.
func TestSketchIsTheLeverage(t *testing.T) {
	const n, lambda = 250, 1e-4
	for _, shape := range shapes() {
		s := draw(shape, n, 3, 1)
		o := s.options(lambda)
		o.Return.Sketch, o.Return.FirstSketch, o.Return.Trials, o.Return.Seed = true, true, true, 7
		fit, err := Solve(o)
		if err != nil {
			t.Fatal(err)
		}
		in, rest := s.split(0)
		for _, c := range []struct {
			sketch *Sketch
			rows   []int
		}{{fit.Sketch, s.all()}, {fit.FirstSketch, rest}} {
			if c.sketch == nil {
				if shape.Regression {
					t.Errorf("%+v: no sketch of %d rows", shape, len(c.rows))
				}
				continue
			}
			mean, squares := 0.0, 0.0
			for _, i := range c.rows {
				mean += c.sketch.of(s, i) / float64(len(c.rows))
			}
			if math.Abs(mean-1) > 1e-4 {
				t.Errorf("%+v: the mean novelty of %d rows is %g", shape, len(c.rows), mean)
			}
			for k, want := range s.leverages(c.rows, lambda, in[:12]) {
				r := c.sketch.of(s, in[k])*c.sketch.Leverage*n/float64(len(c.rows))/want - 1
				squares += r * r / 12
			}
			if most := 2 * math.Sqrt(2./Probes); math.Sqrt(squares) > most || shape.Dim <= Probes && squares > 1e-8 {
				t.Errorf("%+v: leverage by probes differs by a share of %g from the leverage by %d rows", shape,
					math.Sqrt(squares), len(c.rows))
			}
		}
		o.Threads = 1
		again, err := Solve(o)
		if err != nil || !slices.Equal(again.Sketch.Linear.W, fit.Sketch.Linear.W) {
			t.Errorf("%+v: another sketch on one thread (%v)", shape, err)
		}
		o.Return.Sketch = false
		if plain, err := Solve(o); err != nil || !slices.Equal(plain.Weights, fit.Weights) || plain.Sketch != nil {
			t.Errorf("%+v: a sketch changes the weights (%v)", shape, err)
		}
	}
}

package ridge

import (
	"math"
	"slices"
	"testing"
)

// leverage is φᵀA⁻¹φ by elimination, of centred row i, for the normal equations A of some rows.
func (s *sample) leverage(rows []int, lambda float64, i int) float64 {
	d, n := s.shape.Dim, float64(len(rows))
	mean, a := make([]float64, d), make([][]float64, d)
	for _, r := range rows {
		for j, v := range s.phi(r) {
			mean[j] += v / n
		}
	}
	own := s.phi(i)
	for j := range a {
		a[j] = make([]float64, d+1)
		a[j][j] = n * lambda
		own[j] -= mean[j]
		a[j][d] = own[j]
	}
	for _, r := range rows {
		phi := s.phi(r)
		for j := range phi {
			for l := range phi {
				a[j][l] += (phi[j] - mean[j]) * (phi[l] - mean[l])
			}
		}
	}
	eliminate(a)
	sum := 0.0
	for j := range a {
		sum += own[j] * a[j][d]
	}
	return sum
}

// of is the novelty of row i.
func (m *Spread) of(s *sample, i int) (sum float64) {
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

// The squares of a spread are the leverage, exactly if there are as many as features, otherwise nearly so, and 1 in
// the mean over the rows; without the first fold they are those of a fit to the other rows.
func TestSpreadIsTheLeverage(t *testing.T) {
	const n, lambda = 250, 1e-4
	for _, shape := range shapes() {
		s := draw(shape, n, 3, 1)
		o := s.options(lambda)
		o.Spreads, o.FirstSpread, o.Trials, o.Seed = true, true, true, 7
		fit, err := Solve(o)
		if err != nil {
			t.Fatal(err)
		}
		in, rest := s.split(0)
		for _, c := range []struct {
			spread *Spread
			rows   []int
		}{{fit.Spread, s.all()}, {fit.FirstSpread, rest}} {
			if c.spread == nil {
				if shape.Regression {
					t.Errorf("%+v: no spread of %d rows", shape, len(c.rows))
				}
				continue
			}
			mean, squares := 0.0, 0.0
			for _, i := range c.rows {
				mean += c.spread.of(s, i) / float64(len(c.rows))
			}
			if math.Abs(mean-1) > 1e-4 {
				t.Errorf("%+v: the mean novelty of %d rows is %g", shape, len(c.rows), mean)
			}
			for _, i := range in[:12] {
				want := s.leverage(c.rows, lambda, i)
				r := c.spread.of(s, i)*c.spread.Leverage*n/float64(len(c.rows))/want - 1
				squares += r * r / 12
			}
			if most := 2 * math.Sqrt(2./Probes); math.Sqrt(squares) > most || shape.Dim <= Probes && squares > 1e-8 {
				t.Errorf("%+v: leverage by probes differs by a share of %g from the leverage by %d rows", shape,
					math.Sqrt(squares), len(c.rows))
			}
		}
		o.Threads = 1
		again, err := Solve(o)
		if err != nil || !slices.Equal(again.Spread.Linear.W, fit.Spread.Linear.W) {
			t.Errorf("%+v: another spread on one thread (%v)", shape, err)
		}
		o.Spreads = false
		if plain, err := Solve(o); err != nil || !slices.Equal(plain.Weights, fit.Weights) || plain.Spread != nil {
			t.Errorf("%+v: a spread changes the weights (%v)", shape, err)
		}
	}
}

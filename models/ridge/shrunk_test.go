package ridge

import (
	"math"
	"testing"
)

// Weights toward others minimise the loss that the comment of FitShrunk states, whose normal equations are solved here
// row by row. The errors match the rows, and the model has the same weights.
func TestWeightsTowardOthersMinimiseTheirLoss(t *testing.T) {
	for _, shape := range shapes() {
		const lambda, kappa = 1e-3, 7.5
		s := draw(shape, 200, 4, 1)
		in, out := s.split(0)
		e, err := NewEvaluator(s.sum(s.all()), s.options(1).Units, 2)
		if err != nil {
			t.Fatal(err)
		}
		prior := e.Fit(s.sum(out), []float64{lambda})
		got := e.FitShrunk(s.sum(in), prior, []float64{kappa, 1e12})
		want := s.toward(in, kappa, s.refit(out, lambda))
		held := s.sum(out[:40])
		for _, q := range []struct {
			what      string
			got, want float64
		}{
			{"shrunk", got[0].Squares(held)[0], want.squares(s, out[:40])},
			{"shrunk without end", got[1].Squares(held)[0], prior.Squares(held)[0]},
			{"of no rows", e.FitShrunk(NewSum(shape), prior, []float64{1})[0].Squares(held)[0], prior.Squares(held)[0]},
		} {
			if !(math.Abs(q.got-q.want) <= 1e-8*q.want) {
				t.Errorf("%+v: %s: squared errors %.12g, want %.12g", shape, q.what, q.got, q.want)
			}
		}
		m, err := got[0].Model()
		if err != nil {
			t.Fatal(err)
		}
		if shape.Regression {
			want.normalise(s.grid)
		}
		for c, w := range want.w {
			for j, v := range append(w, want.b[c]) {
				if w := append(m.W[c*shape.Dim:][:shape.Dim:shape.Dim], m.B[c])[j]; math.Abs(float64(w)-v) > 1e-5*(1+math.Abs(v)) {
					t.Fatalf("%+v: weight %d of output %d is %g, want %g", shape, j, c, w, v)
				}
			}
		}
	}
}

// toward solves the normal equations of FitShrunk for some rows.
func (s *sample) toward(rows []int, kappa float64, prior twin) twin {
	d, k := s.shape.Dim, s.shape.Outputs
	a := make([][]float64, d+1) // with the intercept last, then the right sides
	for j := range a {
		a[j] = make([]float64, d+1+k)
		a[j][j] = kappa
		for c := range k {
			a[j][d+1+c] = kappa * append(prior.w[c][:d:d], prior.b[c])[j]
		}
	}
	for _, i := range rows {
		phi, t := append(s.phi(i), 1), s.target(i)
		for j, v := range phi {
			for l, u := range phi {
				a[j][l] += v * u
			}
			for c := range t {
				a[j][d+1+c] += v * t[c]
			}
		}
	}
	eliminate(a)
	m := twin{}
	for c := range k {
		var w []float64
		for j := range d {
			w = append(w, a[j][d+1+c])
		}
		m.w, m.b = append(m.w, w), append(m.b, a[d][d+1+c])
	}
	return m
}

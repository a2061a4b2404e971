package ridge

import (
	"testing"

	"github.com/bochner-ml/bochner/models/linear"
)

// Weights that solve the equations are within the bound, for any shape and λ. A weight that is a unit in the
// last place away is found, and the bound finds one that is far away.
func TestCheckedWeightsMatchTheSum(t *testing.T) {
	for i, shape := range []Shape{{Dim: 40, Outputs: 3}, {Dim: 30, Outputs: 2, Regression: true}, {Dim: 400, Outputs: 2}} {
		for _, lambda := range []float64{1e-1, 1e-5, 1e-8} {
			s := draw(shape, 300, 1, uint64(i))
			o := s.options(lambda)
			if i == 1 {
				for range shape.Dim {
					r := &o.Units.Ranges
					r.Centre, r.Half = append(r.Centre, 0.3), append(r.Half, 2)
				}
			}
			fit, err := Solve(o)
			if err != nil {
				t.Fatal(err)
			}
			check := func() Residual {
				r, err := CheckWeights(s.sum(s.all()), o,
					&linear.Model{W: fit.Weights, B: fit.Intercept, K: shape.Outputs, D: shape.Dim})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			if r := check(); r.Different > 0 || !(r.Relative <= r.Bound) || r.Relative < 1e-14 {
				t.Errorf("%+v, lambda %g: %+v", shape, lambda, r)
			}
			w := &fit.Weights[shape.Dim+7]
			was := *w
			*w *= 1 + 0x1p-23
			if r := check(); r.Different != 1 || *w == was {
				t.Errorf("%+v, lambda %g: a unit in the last place: %+v", shape, lambda, r)
			}
			*w = was*1.01 + 1e-2
			if r := check(); r.Different != 1 || r.Relative < r.Bound {
				t.Errorf("%+v, lambda %g: another weight: %+v", shape, lambda, r)
			}
			*w = was
		}
	}
}

package ridge

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models/linear"
)

// Residual measures how well weights solve the equations of a Sum; see CheckWeights.
type Residual struct {
	Relative  float64 `json:"relative"`  // largest |ρ_i|, divided by the bracket in the bound of CheckWeights
	Bound     float64 `json:"bound"`     // largest that rounding explains
	Different int     `json:"different"` // weights and intercepts that differ from Solve's in any bit
}

// CheckWeights compares a model with the Sum that it was fitted to, with one λ. It overwrites the Sum, and
// fails if Solve does.
//
// Let A = G_c + μR be the matrix of the system, and v the weights in its units. If Cholesky's method found them in
// float64 and they were rounded to float32, then ρ = R_c − A·v is bounded for each equation and output by
//
//	|ρ_i| ≤ (2⁻²⁴ + 8(D+9)u)·(h_i Σ_j h_j|v_j| + |R_i| + |s_i t|/n),   h_j² = Σz_j² + μR_j,   u = 2⁻⁵³,
//
// because |A_ij|, |Σz_iz_j| and |s_i s_j|/n are at most h_i h_j. The term 2⁻²⁴ is the rounding of weights.
// The rest covers the backward error of the method, 4(D+1)u·h_i h_j (Higham 2002, Theorems 10.3 and 10.4),
// and the rounding of A, of R_c and of the sum over j. The residual does not depend on the solver. But the
// bound assumes the worst signs, so a weight may be off by many units in the last place and still pass.
// Therefore the weights are also solved for again and compared bit for bit.
func CheckWeights(total *Sum, o Options, w *linear.Model) (r Residual, err error) {
	o.From.Shape = total.shape
	p := &problem{Options: o}
	if err := cmp.Or(o.validate(), p.checkRows(total)); err != nil {
		return r, err
	}
	eq := newSystem(total.shape, o.Units, errorFactors(total), o.Threads)
	eq.setSums(total, nil)
	eq.rightSides(total, nil)
	unit := o.Units.Step / 2 // as in problem.weights
	if o.Units.Grid != nil {
		unit = o.Units.Step * maxTarget
	}
	r.Relative = eq.residual(total, p.mu(eq, o.Search.Lambda[0]), unit, w)
	r.Bound = 0x1p-24 + float64(float64(w.D+9)*0x1p-50)
	fit := &Solution{Lambda: o.Search.Lambda[0]}
	if _, err := p.fitWeights(fit, eq, total); err != nil {
		return r, err
	}
	was := slices.Concat(w.W, w.B)
	for i, v := range slices.Concat(fit.Weights, fit.Intercept) {
		if math.Float32bits(v) != math.Float32bits(was[i]) {
			r.Different++
		}
	}
	return r, nil
}

// residual returns the largest |ρ_i| of CheckWeights, divided by the bracket in its bound. A weight times
// unit, and times Half of its feature, is in units of the grids.
func (eq *system) residual(total *Sum, mu, unit float64, w *linear.Model) (largest float64) {
	h, sums, v := make([]float64, w.D), make([]float64, w.K), make([]float64, w.D*w.K)
	for j := range h {
		h[j] = math.Sqrt(total.at(j, j) + float64(mu*eq.Ridge[j]))
		scale := unit / math.Sqrt(eq.Ridge[j])
		for c := range sums {
			v[j*w.K+c] = float64(w.W[c*w.D+j]) * scale
			// Below 2⁻¹²⁶ float32 rounds to a multiple of 2⁻¹⁴⁹.
			sums[c] += float64(h[j] * max(math.Abs(v[j*w.K+c]), 0x1p-126*scale))
		}
	}
	residuals := make([]float64, w.D)
	parallel.Each(w.D, eq.Threads, func(_, i int) {
		left := slices.Clone(eq.v[i*w.K:][:w.K])
		for j := range h {
			a := total.at(max(i, j), min(i, j)) - float64(eq.colSum[i]*eq.colSum[j])/eq.n
			if i == j {
				a += float64(mu * eq.Ridge[j])
			}
			for c, x := range v[j*w.K:][:w.K] {
				left[c] -= float64(a * x)
			}
		}
		for c, l := range left {
			magnitude := float64(h[i]*sums[c]) + math.Abs(eq.v[i*w.K+c]) + math.Abs(eq.colSum[i]*eq.outSum[c])/eq.n
			residuals[i] = max(residuals[i], math.Abs(l)/max(magnitude, math.SmallestNonzeroFloat64))
		}
	})
	return slices.Max(residuals)
}

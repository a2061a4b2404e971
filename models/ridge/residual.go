package ridge

import (
	"math"

	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models/linear"
)

// Residual says how well weights solve the equations of a Sum: see CheckWeights.
type Residual struct {
	// Relative is the largest residual of an equation, relative to the sum of the magnitudes of its terms.
	Relative float64 `json:"relative"`
	// OfBound is the largest residual as a share of what the working precision of Solve explains.
	OfBound float64 `json:"of_bound"`
	// Feature and Output of that equation, from 0.
	Feature int `json:"feature"`
	Output  int `json:"output"`
	// Different is how many weights and intercepts are not, bit for bit, those that Solve finds.
	Different int `json:"different"`
}

// CheckWeights compares the weights and intercepts of a model with the Sum of the rows that they were
// fitted to. It overwrites the Sum. It fails if Solve does.
//
// Let A = G_c + μR be the matrix of the system and v the stored weights in its units. The residual
// ρ = R_c − A·v of the exact solution, computed by Cholesky's method in float64 and rounded to float32, is
// bounded for each equation i by
//
//	|ρ_i| ≤ 2⁻²⁴ Σ_j |A_ij v_j| + 8(D+8)u·h_i Σ_j h_j|v_j| + 8u(|R_i| + |s_i t|/n),   h_j² = Σz_j² + μR_j
//
// with u = 2⁻⁵³. The first term is the rounding of weights. The second holds, as |A_ij|, |Σz_iz_j| and
// |s_i s_j|/n are at most h_i h_j: the backward error of the method, 4(D+1)u·h_i h_j (Higham 2002, Theorems
// 10.3 and 10.4), what centring rounds, and what the sum over j of the residual itself rounds. The third is
// what the right sides round. Whatever the solver did, weights within the bound are a solution to
// working precision.
//
// The bound takes all roundings to have the worst signs, so a single weight may be off by about
// Σ_j|A_ij v_j|/|A_ii v_i| units in the last place within it. Hence weights are also solved for anew, and
// compared bit for bit.
func CheckWeights(total *Sum, o Options, lambda float64, w *linear.Model) (r Residual, err error) {
	o.Lambda, o.FoldPlan, o.Load = []float64{lambda}, FoldPlan{}, func(int) (*Sum, error) { return total, nil }
	if err := (&solve{Options: o}).checkRows(total); err != nil {
		return r, err
	}
	r.solves(total, &o, lambda, w)
	fit, err := Solve(o)
	if err != nil {
		return r, err
	}
	for _, pair := range [][2][]float32{{fit.Weights, w.W}, {fit.Intercept, w.B}} {
		for i, v := range pair[0] {
			if math.Float32bits(v) != math.Float32bits(pair[1][i]) {
				r.Different++
			}
		}
	}
	return r, nil
}

// solves sets all but Different.
func (r *Residual) solves(total *Sum, o *Options, lambda float64, w *linear.Model) {
	y := newSystem(total.shape, o.Weights, o.Threads)
	y.measure(o.Ranges)
	y.leave(total, nil)
	y.rightSides(total, nil)
	d, k, mu := total.shape.Dim, total.shape.Outputs, (&solve{Options: *o}).mu(y, lambda)
	unit := o.Step / 2 // as in weights
	if o.Grid != nil {
		unit = o.Step * maxTarget
	}
	h, sums := make([]float64, d), make([]float64, k)
	v, rounding := make([]float64, d*k), make([]float64, d*k)
	for j := range d {
		h[j] = math.Sqrt(total.at(j, j) + mu*y.Ridge[j])
		own := unit / math.Sqrt(y.Ridge[j])
		for c := range k {
			x := float64(w.W[c*d+j]) * own
			v[j*k+c], rounding[j*k+c] = x, 0x1.0001p-24*math.Abs(x)+0x1p-149*own
			sums[c] += h[j] * math.Abs(x)
		}
	}
	const u = 0x1p-53
	relative, share := make([]float64, d*k), make([]float64, d*k)
	parallel.Ranges(d, 16, o.Threads, func(first, end int) {
		left, bound := make([]float64, k), make([]float64, k)
		for i := first; i < end; i++ {
			copy(left, y.v[i*k:])
			clear(bound)
			for j := range d {
				a := total.at(max(i, j), min(i, j)) - float64(y.colSum[i]*y.colSum[j])/y.n
				if i == j {
					a += float64(mu * y.Ridge[j])
				}
				for c := range k {
					left[c] -= float64(a * v[j*k+c])
					bound[c] += float64(math.Abs(a) * rounding[j*k+c])
				}
			}
			for c := range k {
				own := math.Abs(y.v[i*k+c])
				relative[i*k+c] = part(left[c], own+0x1p24*bound[c])
				share[i*k+c] = part(left[c], bound[c]+8*float64(d+8)*u*h[i]*sums[c]+
					8*u*(own+math.Abs(y.colSum[i]*y.outSum[c])/y.n))
			}
		}
	})
	for i, s := range share {
		if r.Relative = max(r.Relative, relative[i]); s > r.OfBound {
			r.OfBound, r.Feature, r.Output = s, i/k, i%k
		}
	}
}

// part returns |a|/b, and 0 for 0/0. What is not finite is the largest number.
func part(a, b float64) float64 {
	p := math.Abs(a) / max(b, math.SmallestNonzeroFloat64)
	if !(p < math.MaxFloat64) {
		return math.MaxFloat64
	}
	return p
}

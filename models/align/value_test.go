package align

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
)

// value bounds max_{α ∈ K} F(α, q) for the kernel of features phi (n×r, multiplied by the square
// roots of the measure) and labels y. lower is F at a feasible α. upper is the objective of a
// support vector machine,
//
//	(λ/2)‖w‖² + (1/n) Σ_i max(0, 1 − y_i (w·φ(x_i) + b)),
//
// which is never less. Both are proven up to rounding. They approach each other over at most the
// given number of iterations of accelerated projected gradients (Beck & Teboulle, "A fast iterative
// shrinkage-thresholding algorithm", SIAM J. Imaging Sciences 2009), which stop at a gap of 10⁻⁴
// times upper. It panics if a slice is too short, or λ ≤ 0.
func value(phi []float32, n, r int, y []float32, lambda float64, iterations int) (lower, upper float64) {
	if n < 1 || len(phi) < n*r || len(y) < n || !(lambda > 0) {
		panic("align: value: slice too short, or lambda not positive")
	}
	q := &program{phi: phi, n: n, r: r, y: y[:n], lambda: lambda, w: make([]float32, r), f: make([]float64, n)}
	step := float64(n) * lambda / q.largest()
	lower, upper = math.Inf(-1), math.Inf(1)
	alpha, at := make([]float64, n), make([]float64, n)
	momentum := 1.0
	for i := range max(iterations, 1) {
		q.scores(at)
		next := slices.Clone(at)
		for j, f := range q.f {
			next[j] += float64(step * (1 - float64(float64(q.y[j])*f)))
		}
		clipRows(next, q.y, multiplier(next, q.y))
		// Drop the momentum if it points away from the maximum.
		var ahead float64
		for j, v := range next {
			ahead += float64((at[j] - v) * (v - alpha[j]))
		}
		before := momentum
		momentum = (1 + math.Sqrt(1+float64(4*before*before))) / 2
		if ahead > 0 {
			before, momentum = 1, 1
		}
		for j, v := range next {
			at[j] = v + float64((before-1)/momentum*(v-alpha[j]))
		}
		alpha = next
		if i%10 == 9 || i == iterations-1 {
			q.scores(alpha)
			lower = max(lower, q.dual(alpha))
			upper = min(upper, q.primal())
			if upper-lower <= float64(1e-4*upper) {
				break
			}
		}
	}
	return lower, upper
}

// program is the dual quadratic program of a kernel.
type program struct {
	phi    []float32
	n, r   int
	y      []float32
	lambda float64
	w      []float32 // (1/λn) Σ_i α_i y_i φ(x_i)
	f      []float64 // w·φ(x_i)
}

// scores sets w and f for alpha.
func (q *program) scores(alpha []float64) {
	clear(q.w)
	for i, v := range alpha {
		blas.Axpy(float32(v/(q.lambda*float64(q.n)))*q.y[i], q.phi[i*q.r:(i+1)*q.r], q.w)
	}
	for i := range q.f {
		q.f[i] = float64(blas.Dot(q.w, q.phi[i*q.r:(i+1)*q.r]))
	}
}

// square returns (λ/2)‖w‖².
func (q *program) square() float64 {
	return q.lambda / 2 * float64(blas.Dot(q.w, q.w))
}

func (q *program) dual(alpha []float64) float64 {
	var sum float64
	for _, v := range alpha {
		sum += v
	}
	return sum/float64(q.n) - float64(q.square())
}

// primal returns the objective at w and the best intercept b.
func (q *program) primal() float64 {
	// The loss of row i has a kink at b = y_i − f_i, where its slope rises by 1. To the left of all
	// kinks the total slope is minus the number of positive rows, so the best b is the kink of that rank.
	kinks, positive := make([]float64, q.n), 0
	for i, f := range q.f {
		kinks[i] = float64(q.y[i]) - f
		if q.y[i] > 0 {
			positive++
		}
	}
	slices.Sort(kinks)
	b := kinks[max(positive-1, 0)]
	var loss float64
	for i, f := range q.f {
		loss += max(0, 1-float64(float64(q.y[i])*(f+b)))
	}
	return float64(q.square()) + loss/float64(q.n)
}

// largest estimates the largest eigenvalue of ΦΦᵀ from above: by power iteration plus a tenth, and
// at most the trace. If it is too small, steps are too long and cost iterations, but the bounds
// still hold.
func (q *program) largest() float64 {
	var trace, value float64
	for _, v := range q.phi[:q.n*q.r] {
		trace += float64(float64(v) * float64(v))
	}
	v, next := make([]float32, q.r), make([]float32, q.r)
	for j := range v {
		v[j] = 1 / float32(1+j%7)
	}
	for range 30 {
		clear(next)
		scale := float32(1 / math.Sqrt(float64(blas.Dot(v, v))))
		for i := range q.n {
			row := q.phi[i*q.r : (i+1)*q.r]
			blas.Axpy(scale*blas.Dot(row, v), row, next)
		}
		value = math.Sqrt(float64(blas.Dot(next, next)))
		v, next = next, v
	}
	return min(trace, 1.1*value)
}

package ridge

import (
	"math/bits"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
)

// system is the centred normal equations of some rows, in units of the grids,
//
//	(G_c + μI) V = R_c,   G_c = Σzzᵀ - s sᵀ/n,   R_c = Σzqᵀ - s tᵀ/n,
//
// with s = Σz, t = Σq and μ = nλ/Step². Where rows have weights, all sums and n are weighted, but the n in
// μ leaves out the weights of classes. In units of the data the weights are W = V·(target step)/(feature
// step). If features have their own ranges, I is diag(1/Half²), and weights are divided by Half·Step.
type system struct {
	shape Shape
	// G_c for descents, and the diagonal that μ multiplies: 1 without ranges.
	solver.Matrix

	n      float64   // the sum of the weights of the rows
	mass   float64   // n without the weights of classes
	colSum []float64 // s, length D
	outSum []float64 // t, length k
	v      []float64 // row-major D×k: R_c, then the solution

	weights *profile.WeightGrid // nil if rows have none

	factors []float64 // of the squared errors of the outputs; see errorFactors
	ranges  Ranges
}

// newSystem returns a system for sums of the shape. factors are as from errorFactors.
func newSystem(shape Shape, u Units, factors []float64, threads int) *system {
	d, k := shape.Dim, shape.Outputs
	eq := &system{
		shape: shape, Matrix: solver.NewMatrix(d, threads), weights: u.Weights, ranges: u.Ranges, factors: factors,
		outSum: make([]float64, k), v: make([]float64, d*k),
	}
	for j := range eq.Ridge {
		eq.Ridge[j] = 1
		if h := u.Ranges.Half; h != nil {
			eq.Ridge[j] = 1 / float64(h[j]*h[j])
		}
	}
	return eq
}

// errorFactors returns a factor for the squared errors of each output: 1 unless there are several targets. Errors of
// these are divided by their variances over the rows of total and averaged, because targets may have different units.
func errorFactors(total *Sum) []float64 {
	k := total.shape.Outputs
	factors := slices.Repeat([]float64{1}, k)
	if !total.shape.Regression || k == 1 {
		return factors
	}
	for c := range factors {
		factors[c] = 0 // a constant target has no errors
		if v := centredSquares(total, nil, c) / total.head.Weight(); v > 0 {
			factors[c] = 1 / (v * float64(k))
		}
	}
	return factors
}

// centre computes G_c for descents over the rows that are in total but not in out; out may be nil. The
// differences are exact, so the system equals the system of a sum over only those rows.
func (eq *system) centre(total, out *Sum) {
	eq.setSums(total, out)
	eq.Centre(total.tiles, out.gramTiles(), eq.colSum, eq.n)
}

// setSums sets all sums except the products of features, as centre does. It is enough for solve.
func (eq *system) setSums(total, out *Sum) {
	eq.n = total.head.Weight()
	copy(eq.outSum, total.head.outputs(eq.shape.Outputs))
	eq.mass = eq.masses(total.head)
	eq.colSum = total.Columns()
	if out == nil {
		return
	}
	eq.n -= out.head.Weight()
	eq.mass -= eq.masses(out.head)
	for c, v := range out.head.outputs(eq.shape.Outputs) {
		eq.outSum[c] -= v
	}
	for j, v := range out.Columns() {
		eq.colSum[j] -= v
	}
}

// masses returns the sum of the weights of the rows with that head, without the weights of classes.
func (eq *system) masses(head Head) float64 {
	if eq.weights == nil || eq.weights.Classes == nil {
		return head.Weight()
	}
	var sum float64
	for c, v := range head.outputs(eq.shape.Outputs) {
		sum += v / eq.weights.Class(c)
	}
	return sum
}

// solve computes V for one μ into eq.v, for the rows that are in total but not in out. It computes in the tiles,
// which may be total's. If the matrix is not positive definite to working precision, ok is false and pivot is
// the index of the failure. setSums must have been called with the same sums.
func (eq *system) solve(tiles [][]float64, mu float64, total, out *Sum) (pivot int, ok bool) {
	eq.CentreTiles(tiles, total.tiles, out.gramTiles(), eq.colSum, eq.n)
	eq.rightSides(total, out)
	return eq.SolveTiles(tiles, eq.v, eq.shape.Outputs, mu)
}

// rightSides sets eq.v to R_c.
func (eq *system) rightSides(total, out *Sum) {
	k, w := eq.shape.Outputs, eq.shape.width()
	for r, s := range eq.colSum {
		for c := range k {
			v := total.cross[r*w+c]
			if out != nil {
				v -= out.cross[r*w+c]
			}
			eq.v[r*k+c] = v - s*eq.outSum[c]/eq.n
		}
	}
}

// intercept stores b = (t - Vᵀs)/n in dst, of length k, in grid units.
func (eq *system) intercept(dst []float64) {
	k := eq.shape.Outputs
	clear(dst)
	for j, s := range eq.colSum {
		m := s / eq.n
		for c, v := range eq.v[j*k : (j+1)*k] {
			dst[c] -= float64(m * v)
		}
	}
	for c := range dst {
		dst[c] += eq.outSum[c] / eq.n
	}
}

// squares returns Σv² over the weights, with the factors of the outputs.
func (eq *system) squares(weights []float64) (s float64) {
	for i, v := range weights {
		s += float64(eq.factors[i%eq.shape.Outputs] * float64(v*v))
	}
	return s
}

// trainError returns Σ‖q - Vᵀz - b‖² over the rows of the system, with the factors of the outputs. Because (G_c +
// μI)V = R_c, the quadratic form need not be computed: ‖q_c‖² - 2 tr VᵀR_c + tr VᵀG_cV = ‖q_c‖² - tr VᵀR_c - μ‖V‖².
func (eq *system) trainError(mu float64, total, out *Sum) float64 {
	k, w := eq.shape.Outputs, eq.shape.width()
	var e float64
	for c := range k {
		e += float64(eq.factors[c] * centredSquares(total, out, c))
	}
	for j, s := range eq.colSum {
		for c, v := range eq.v[j*k : (j+1)*k] {
			r := total.cross[j*w+c]
			if out != nil {
				r -= out.cross[j*w+c]
			}
			r -= s * eq.outSum[c] / eq.n
			e -= float64(eq.factors[c] * float64(v*(r+float64(mu*eq.Ridge[j]*v))))
		}
	}
	return max(e, 0)
}

// fit returns the results of the solution, whose sum of squared errors on the rows of out is heldOut.
func (eq *system) fit(heldOut, mu float64, total, out *Sum) solver.Fit {
	return solver.Fit{HeldOut: heldOut, Train: eq.trainError(mu, total, out), Squares: eq.squares(eq.v)}
}

// heldOut returns the sums of the fold.
func (s *Sum) heldOut() solver.HeldOutSums {
	sums := solver.HeldOutSums{N: s.head.Weight(), Columns: s.Columns(), Targets: s.head.outputs(s.shape.Outputs),
		Tiles: s.tiles, Cross: s.cross, Width: s.shape.width()}
	for c := range s.shape.Outputs {
		sums.Squares = append(sums.Squares, centredSquares(s, nil, c))
	}
	return sums
}

// fitted describes the rows that the system was fitted to.
func (eq *system) fitted() solver.HeldOutFit {
	return solver.HeldOutFit{N: eq.n, Columns: eq.colSum, Targets: eq.outSum, Factors: eq.factors}
}

// discriminants returns the discriminants of the classes on the rows of fold, for the scores of the solution.
func (eq *system) discriminants(fold *Sum, threads int) (all []Discriminant) {
	sums := solver.ClassFold{HeldOutSums: fold.heldOut(), Rows: float64(fold.Rows())}
	for c := range fold.shape.Outputs {
		sums.Weights = append(sums.Weights, eq.weights.Class(c))
	}
	vt := make([]float64, len(eq.v))
	blas.Transpose(vt, eq.v, eq.shape.Dim, eq.shape.Outputs)
	for _, s := range solver.Separations(eq.fitted(), sums, vt, threads) {
		all = append(all, newDiscriminant(s))
	}
	return all
}

// centredSquares returns Σ(q-q̄)² = (nΣq² - (Σq)²)/n of output c over the rows that are in total and not in out; out
// may be nil. The numerator is computed in 128 bits, so that targets far from zero lose no precision.
func centredSquares(total, out *Sum, c int) float64 {
	m := total.moments(c)
	if out != nil {
		less := out.moments(c)
		m = moments{m.n - less.n, m.q - less.q, m.qq - less.qq}
	}
	return m.squares()
}

// moments are n (the number of rows, or the sum of their weights), Σq and Σq² of an output.
type moments struct{ n, q, qq int64 }

func (m moments) plus(o moments) moments { return moments{m.n + o.n, m.q + o.q, m.qq + o.qq} }

// squares returns Σ(q-q̄)².
func (m moments) squares() float64 {
	n, q, qq := m.n, m.q, m.qq
	if q < 0 {
		q = -q
	}
	hi, lo := bits.Mul64(uint64(n), uint64(qq))
	hi1, lo1 := bits.Mul64(uint64(q), uint64(q))
	lo, borrow := bits.Sub64(lo, lo1, 0)
	hi, _ = bits.Sub64(hi, hi1, borrow)
	return (float64(float64(hi)*0x1p64) + float64(lo)) / float64(n)
}

// moments returns the moments of output c.
func (s *Sum) moments(c int) moments {
	k := s.shape.Outputs
	n, q := int64(s.head.Weight()), int64(s.head.outputs(k)[c])
	if !s.shape.Regression {
		return moments{n, q, q}
	}
	hi, lo := s.head.squares(k)
	return moments{n, q, int64(hi[c])<<15 + int64(lo[c])}
}

package ridge

import (
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

	n       float64   // the sum of the weights of the rows
	mass    float64   // n without the weights of classes
	colSum  []float64 // s, length D
	outSum  []float64 // t, length k
	v       []float64 // row-major D×k: R_c, then the solution
	scratch []float64 // length D

	weights *profile.WeightGrid // nil if rows have none

	// each has a factor for the squared errors of each output: 1 unless there are several targets; see
	// share.
	each []float64

	ranges Ranges
}

func newSystem(shape Shape, weights *profile.WeightGrid, threads int) *system {
	d, k := shape.Dim, shape.Outputs
	y := &system{
		shape: shape, Matrix: solver.NewMatrix(d, threads), weights: weights,
		colSum: make([]float64, d), outSum: make([]float64, k),
		v: make([]float64, d*k), scratch: make([]float64, d), each: make([]float64, k),
	}
	for c := range y.each {
		y.each[c] = 1
	}
	y.measure(Ranges{})
	return y
}

// share divides the squared errors of several targets by their variances over all rows and averages them,
// because targets may have different units.
func (y *system) share(total *Sum) {
	if !y.shape.Regression || y.shape.Outputs == 1 {
		return
	}
	for c := range y.each {
		y.each[c] = 0 // a constant target has no errors
		if v := centredSquares(total, nil, c) / total.head[0]; v > 0 {
			y.each[c] = 1 / (v * float64(y.shape.Outputs))
		}
	}
}

// measure sets the diagonal that μ multiplies from the ranges of the features.
func (y *system) measure(r Ranges) {
	y.ranges = r
	for j := range y.Ridge {
		y.Ridge[j] = 1
		if r.Half != nil {
			y.Ridge[j] = 1 / float64(r.Half[j]*r.Half[j])
		}
	}
}

// centre computes G_c for descents over the rows that are in total but not in out; out may be nil. The
// differences are exact, so the system equals the system of a sum over only those rows.
func (y *system) centre(total, out *Sum) {
	y.setSums(total, out)
	y.Centre(total.tiles, out.tilesOf(), y.colSum, y.n)
}

// setSums sets all sums except the products of features, as centre does. It is enough for solve.
func (y *system) setSums(total, out *Sum) {
	y.n = total.head[0]
	copy(y.outSum, total.head[1:])
	y.mass = y.masses(total.head)
	total.columnSums(y.colSum)
	if out == nil {
		return
	}
	y.n -= out.head[0]
	y.mass -= y.masses(out.head)
	for c := range y.outSum {
		y.outSum[c] -= out.head[1+c]
	}
	out.columnSums(y.scratch)
	for j, v := range y.scratch {
		y.colSum[j] -= v
	}
}

// masses returns the sum of the weights of the rows with that head, without the weights of classes.
func (y *system) masses(head []float64) float64 {
	if y.weights == nil || y.weights.Classes == nil {
		return head[0]
	}
	var sum float64
	for c := range y.shape.Outputs {
		sum += head[1+c] / y.weights.Class(c)
	}
	return sum
}

// solve computes V for one μ into y.v, for the rows that are in total but not in out. If the matrix is not
// positive definite to working precision, ok is false and pivot is the index of the failure. setSums must
// have been called with the same sums. The matrix of centre is lost.
func (y *system) solve(mu float64, total, out *Sum) (pivot int, ok bool) {
	return y.solveBy(y.Tiles(), mu, total, out)
}

// solveIn is solve for the rows of total. It computes in the tiles of total.
func (y *system) solveIn(mu float64, total *Sum) (pivot int, ok bool) {
	return y.solveBy(total.tiles, mu, total, nil)
}

// solveBy is solve with given tiles to compute in, which may be total's.
func (y *system) solveBy(tiles [][]float64, mu float64, total, out *Sum) (pivot int, ok bool) {
	y.CentreTiles(tiles, total.tiles, out.tilesOf(), y.colSum, y.n)
	y.rightSides(total, out)
	return y.SolveTiles(tiles, y.v, y.shape.Outputs, mu)
}

// rightSides sets y.v to R_c.
func (y *system) rightSides(total, out *Sum) {
	k, w := y.shape.Outputs, y.shape.width()
	for r, s := range y.colSum {
		for c := range k {
			v := total.cross[r*w+c]
			if out != nil {
				v -= out.cross[r*w+c]
			}
			y.v[r*k+c] = v - s*y.outSum[c]/y.n
		}
	}
}

// intercept stores b = (t - Vᵀs)/n in dst, of length k, in grid units.
func (y *system) intercept(dst []float64) {
	k := y.shape.Outputs
	clear(dst)
	for j, s := range y.colSum {
		m := s / y.n
		for c, v := range y.v[j*k : (j+1)*k] {
			dst[c] -= float64(m * v)
		}
	}
	for c := range dst {
		dst[c] += y.outSum[c] / y.n
	}
}

// squares returns Σv² over the weights, with the factors of the outputs.
func (y *system) squares(weights []float64) (s float64) {
	for i, v := range weights {
		s += float64(y.each[i%y.shape.Outputs] * float64(v*v))
	}
	return s
}

// trainError returns Σ‖q - Vᵀz - b‖² over the rows of the system, with the factors of the outputs. Because
// (G_c + μI)V = R_c, the quadratic form need not be computed: ‖q_c‖² - 2 tr VᵀR_c + tr VᵀG_cV = ‖q_c‖² - tr
// VᵀR_c - μ‖V‖².
func (y *system) trainError(mu float64, total, out *Sum) float64 {
	k, w := y.shape.Outputs, y.shape.width()
	var e float64
	for c := range k {
		e += float64(y.each[c] * centredSquares(total, out, c))
	}
	for j, s := range y.colSum {
		for c, v := range y.v[j*k : (j+1)*k] {
			r := total.cross[j*w+c]
			if out != nil {
				r -= out.cross[j*w+c]
			}
			r -= s * y.outSum[c] / y.n
			e -= float64(y.each[c] * float64(v*(r+float64(mu*y.Ridge[j]*v))))
		}
	}
	return max(e, 0)
}

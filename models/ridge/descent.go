package ridge

import (
	"math"

	"github.com/bochner-ml/bochner/internal/blas"
)

// A fold leaves out a part of the rows, and what is left is much like the whole:
// with M = G_c + μI of all rows, the eigenvalues of M⁻¹(G_c' + μ'I) for the other
// rows lie between about 0.4 and 1 for 5 folds and 6 times as many rows as
// features. So conjugate gradients preconditioned by one factor of M find the
// weights of every fold, in a dozen steps of D² each, where a factorisation takes
// D³/3 (Golub & Van Loan, Matrix Computations, 11.5). A factor in float32 does as
// well as one in float64.
//
// Vectors are added and multiplied in float64, in an order that is fixed, so
// neither threads nor the level of the CPU change a bit.

const (
	// descentTolerance is the error of the weights at which a descent ends, relative,
	// in the norm ‖E‖² = tr Eᵀ(G_c + μI)E as the residuals tell it: that of the
	// predictions, within a small factor. It moves held-out errors by 1e-10 of
	// themselves on MNIST, and by 1e-6 where rows are few.
	descentTolerance = 1e-8

	// descentSteps is where it is given up, and the matrix factored.
	descentSteps = 40

	// Sizes from which a descent is cheaper than a factorisation.
	descentDim       = 2048
	descentPerOutput = 256

	// descentRows is how many rows a feature takes: where they are fewer, a fold's own
	// rows decide too much for the whole to be like what is left.
	descentRows = 2

	// maxFactors is how many factors are held at once.
	maxFactors = 4

	// sharing is the relative change of an eigenvalue, on average, up to which a λ
	// makes do with the factor of a smaller one.
	sharing = 0.25
)

// descends tells whether folds may be solved by descent: it is for many features and
// few outputs.
func descends(shape Shape) bool {
	return shape.Dim >= descentDim && shape.Dim >= descentPerOutput*shape.Outputs
}

// factor is a preconditioner.
type factor struct {
	mu       float64
	triangle *blas.Triangle
	inverse  float64 // mean of the diagonal of M⁻¹, as the last pivots tell
}

// precondition factors G_c + μI, in the square given as scratch. It returns nil if
// float32 is too coarse for the matrix.
func (y *system) precondition(mu float64, square []float32) *factor {
	d := y.shape.Dim
	lower(y, square, mu)
	if _, ok := blas.Cholesky(square, d, y.threads); !ok {
		return nil
	}
	// Pivots that may be rounding error alone make no preconditioner.
	tiny := math.Sqrt(float64(d)) * 0x1p-23
	const last = 64
	f := &factor{mu: mu}
	for i, g := range y.diag {
		l := float64(square[i*d+i])
		if !(l*l > tiny*(g+mu)) {
			return nil
		}
		if i >= d-last {
			f.inverse += 1 / (l * l) / float64(min(last, d))
		}
	}
	f.triangle = blas.NewTriangle(square, d, y.threads)
	return f
}

// serves tells whether f is good for μ too, which is not smaller than its own.
func (f *factor) serves(mu float64) bool { return (mu-f.mu)*f.inverse < sharing }

// descent solves (G_c + μI)V = R_c for several μ at once, each with its own factor.
// Matrices of vectors are row-major, a vector for each output of each system.
type descent struct {
	y       *system
	systems []*descending // those still at work, in the order of the rows of p
	p, ap   []float64     // directions, and their products with G_c + μI
	pt      []float64     // the directions as columns
	z32     []float32
}

// descending is one system.
type descending struct {
	mu      float64
	f       *factor
	x, r    []float64 // k×D: solution and residual
	rz, rz0 []float64 // r·M⁻¹r of each output, and what it was at first
	solved  bool
}

// run descends until all systems are solved or the steps are used up. y.square must
// be G_c, both triangles and the diagonal, and y.v be R_c.
func (d *descent) run(systems []*descending) {
	y := d.y
	n, k := y.shape.Dim, y.shape.Outputs
	d.systems = append(d.systems[:0], systems...)
	size := len(systems) * k * n
	d.p, d.ap, d.pt = make([]float64, size), make([]float64, size), make([]float64, size)
	d.z32 = make([]float32, k*n)
	for i, s := range d.systems {
		s.x, s.r = make([]float64, k*n), make([]float64, k*n)
		s.rz, s.rz0 = make([]float64, k), make([]float64, k)
		for j := range n {
			for c, v := range y.v[j*k : (j+1)*k] {
				s.r[c*n+j] = v
			}
		}
		p := d.p[i*k*n:][:k*n]
		d.apply(s, p)
		for c := range k {
			s.rz[c] = dot(s.r[c*n:][:n], p[c*n:][:n])
		}
		copy(s.rz0, s.rz)
	}
	d.drop()
	for step := 0; step < descentSteps && len(d.systems) > 0; step++ {
		rows := len(d.systems) * k
		d.product(rows)
		for i, s := range d.systems {
			d.step(s, d.p[i*k*n:][:k*n], d.ap[i*k*n:][:k*n])
		}
		d.drop()
	}
}

// product makes ap the product of G_c with the first rows directions.
func (d *descent) product(rows int) {
	n := d.y.shape.Dim
	parallel((n+63)/64, d.y.threads, func(_, b int) {
		for r := range rows {
			for j, v := range d.p[r*n+b*64 : r*n+min(n, b*64+64)] {
				d.pt[(b*64+j)*rows+r] = v
			}
		}
	})
	clear(d.ap[:rows*n])
	blas.Gradient(d.ap, d.pt, d.y.square, n, n, rows, d.y.threads)
}

// step goes one step along the directions p of s, whose products with G_c are ap, and
// turns p to the next ones. The factor's rounding makes M⁻¹ a little different each
// time, so the next direction is made conjugate to the last one by its product and
// not by the residuals alone (Notay 2000, Flexible conjugate gradients).
func (d *descent) step(s *descending, p, ap []float64) {
	n, k := d.y.shape.Dim, d.y.shape.Outputs
	alpha := make([]float64, k)
	parallel(k, d.y.threads, func(_, c int) {
		p, ap, x, r := p[c*n:][:n], ap[c*n:][:n], s.x[c*n:][:n], s.r[c*n:][:n]
		for j, v := range p {
			ap[j] += float64(s.mu * v)
		}
		if curve := dot(p, ap); s.rz[c] > 0 && curve > 0 {
			alpha[c] = s.rz[c] / curve
		}
		a := alpha[c]
		for j, v := range p {
			x[j] += float64(a * v)
			r[j] -= float64(a * ap[j])
		}
	})
	z := make([]float64, k*n)
	d.apply(s, z)
	parallel(k, d.y.threads, func(_, c int) {
		z, p := z[c*n:][:n], p[c*n:][:n]
		beta := 0.0
		if s.rz[c] > 0 {
			beta = -alpha[c] * dot(z, ap[c*n:][:n]) / s.rz[c]
		}
		s.rz[c] = dot(s.r[c*n:][:n], z)
		for j, v := range z {
			p[j] = v + float64(beta*p[j])
		}
	})
}

// apply stores M⁻¹r in z, each row brought to the size of 1 for float32.
func (d *descent) apply(s *descending, z []float64) {
	n, k := d.y.shape.Dim, d.y.shape.Outputs
	power := make([]int, k)
	parallel(k, d.y.threads, func(_, c int) {
		var most float64
		for _, v := range s.r[c*n:][:n] {
			most = max(most, math.Abs(v))
		}
		_, power[c] = math.Frexp(most)
		unit := math.Ldexp(1, -power[c])
		for j, v := range s.r[c*n:][:n] {
			d.z32[c*n+j] = float32(v * unit)
		}
	})
	s.f.triangle.Solve(d.z32, k, d.y.threads)
	parallel(k, d.y.threads, func(_, c int) {
		unit := math.Ldexp(1, power[c])
		for j, v := range d.z32[c*n:][:n] {
			z[c*n+j] = float64(v) * unit
		}
	})
}

// drop takes out the systems that are solved.
func (d *descent) drop() {
	size := d.y.shape.Outputs * d.y.shape.Dim
	left := d.systems[:0]
	for i, s := range d.systems {
		s.solved = true
		for c, rz := range s.rz {
			if !(rz <= descentTolerance*descentTolerance*s.rz0[c]) {
				s.solved = false
			}
		}
		if !s.solved {
			copy(d.p[len(left)*size:][:size], d.p[i*size:][:size])
			left = append(left, s)
		}
	}
	d.systems = left
}

// solution makes y.v the solution of s.
func (s *descending) solution(y *system) {
	n, k := y.shape.Dim, y.shape.Outputs
	for j := range n {
		for c := range k {
			y.v[j*k+c] = s.x[c*n+j]
		}
	}
}

func dot(a, b []float64) float64 {
	var s [1]float64
	blas.Dots(s[:], a, b, 0)
	return s[0]
}

package ridge

import (
	"math"

	"github.com/bochner-ml/bochner/internal/blas"
)

// Conjugate gradients preconditioned by a factor in float32 of the matrix itself end after
// two or three steps (Golub & Van Loan, Matrix Computations, 11.5), which is twice as fast
// as a factor in float64.
//
// A fold leaves out a part of the rows, and the rest is much like the whole: with M = G_c
// + μI of all rows, the eigenvalues of M⁻¹(G_c' + μ'I) for the other rows are between
// about 0.4 and 1 for 5 folds and 6 times as many rows as features. So
// one factor of M serves every fold, in a dozen steps of D² each, where a factorisation
// takes D³/3.
//
// Vectors are added and multiplied in float64, in a fixed order, so that neither threads
// nor the CPU level change a bit.

const (
	// descentTolerance is the relative error of the weights at which a descent stops, in
	// the norm ‖E‖² = tr Eᵀ(G_c + μI)E, estimated from the residuals: within a small
	// factor, the error of the predictions. It changes held-out errors by up to 1e-6 of
	// themselves on MNIST, where their standard errors are 0.01 of them; by 2e-4 on small
	// sets of targets whose errors a fit reduces to a tenth.
	descentTolerance = 1e-5

	// descentSteps is the limit, after which the matrix is factored. From step descentLate
	// on, a descent that is too slow to be done by then is given up.
	descentSteps = 30
	descentLate  = 8

	// Numbers of features from which on a factorisation in float64 costs more than a descent:
	// in all, for each output, and for each output if descents share a factor.
	descentDim       = 1024
	descentPerOutput = 80
	sharedPerOutput  = 256

	// descentRows is the number of rows per feature from which on the rest is like the
	// whole.
	descentRows = 6

	// maxFactors is how many factors are in memory at once.
	maxFactors = 3

	// sharing is the relative change of an eigenvalue, on average, up to which a λ reuses
	// the factor of a smaller one.
	sharing = 0.25
)

// factor is a preconditioner.
type factor struct {
	mu       float64
	triangle *blas.Triangle
	inverse  float64 // mean of the diagonal of M⁻¹, estimated from the last pivots
}

// precondition factors G_c + μI in scratch. It returns nil if float32 is too coarse for
// the matrix.
func (y *system) precondition(mu float64, square []float32) *factor {
	d := y.shape.Dim
	lower(y, square, mu)
	if _, ok := blas.Cholesky(square, d, y.threads); !ok {
		return nil
	}
	// Pivots that may be rounding error alone do not make a preconditioner.
	tiny := math.Sqrt(float64(d)) * 0x1p-23
	const last = 64
	f := &factor{mu: mu}
	for i, g := range y.diag {
		l := float64(square[i*d+i])
		if !(l*l > tiny*(g+float64(mu*y.ridge[i]))) {
			return nil
		}
		if i >= d-last {
			f.inverse += y.ridge[i] / (l * l) / float64(min(last, d))
		}
	}
	f.triangle = blas.NewTriangle(square, d, y.threads)
	return f
}

// serves reports whether f is also good enough for μ, which is not smaller than its own.
func (f *factor) serves(mu float64) bool { return (mu-f.mu)*f.inverse < sharing }

// descent solves (G_c + μI)V = R_c for several μ at once, each with a factor.
//
// Matrices of vectors are row-major and have k rows for each unsolved system, in their
// order; their columns are the features.
type descent struct {
	y       *system
	systems []*descending
	x       []float64 // the solutions of all systems, solved or not, in their original order
	r       []float64 // residuals
	z       []float64 // M⁻¹r
	p, ap   []float64 // directions, and their products with G_c + μI
	pt      []float64 // the directions as columns
	z32     []float32
}

// descending is one system.
type descending struct {
	index int // position in the original order
	mu    float64
	f     *factor
	x     []float64 // k×D: the solution
	out   []output
	// solved is set when the descent has converged.
	solved bool
}

// output is the state of the descent for one output of a system.
type output struct {
	rz, first float64 // r·M⁻¹r, and its initial value
	alpha     float64 // the length of the last step
}

// run descends until all systems are solved or the step limit is reached. y.square must
// be G_c, both triangles and the diagonal, and y.v be R_c. Systems that share a factor
// are adjacent.
func (d *descent) run(systems []*descending) {
	n, k := d.y.shape.Dim, d.y.shape.Outputs
	d.systems = append(d.systems[:0], systems...)
	size := len(systems) * k * n
	for _, v := range []*[]float64{&d.x, &d.r, &d.z, &d.p, &d.ap, &d.pt} {
		*v = blas.Make[float64](size)
	}
	d.z32 = blas.Make[float32](size)
	for i, s := range d.systems {
		s.index, s.x, s.out = i, d.x[i*k*n:][:k*n], make([]output, k)
		transpose(d.r[i*k*n:], d.y.v, n, k)
	}
	d.precondition()
	copy(d.p, d.z)
	d.rows(func(s *descending, c int, r, z, _, _ []float64) {
		rz := dot(r, z)
		s.out[c] = output{rz: rz, first: rz}
	})
	d.drop(0)
	for step := 1; step <= descentSteps && len(d.systems) > 0; step++ {
		d.step()
		d.drop(step)
	}
}

// rows calls f for every output of every system, from several goroutines, with its rows
// of r, z, p and ap.
func (d *descent) rows(f func(s *descending, c int, r, z, p, ap []float64)) {
	n, k := d.y.shape.Dim, d.y.shape.Outputs
	parallel(len(d.systems)*k, d.y.threads, func(_, i int) {
		f(d.systems[i/k], i%k, d.r[i*n:][:n], d.z[i*n:][:n], d.p[i*n:][:n], d.ap[i*n:][:n])
	})
}

// step takes one step along the directions and computes the next ones. The rounding of
// the factor makes M⁻¹ slightly different each time, so a direction is made conjugate to
// the last one by its product, and not by the residuals alone (Notay 2000, Flexible
// conjugate gradients).
func (d *descent) step() {
	n, count := d.y.shape.Dim, len(d.systems)*d.y.shape.Outputs
	parallel((n+63)/64, d.y.threads, func(_, b int) {
		for i := range count {
			for j, v := range d.p[i*n+b*64 : i*n+min(n, b*64+64)] {
				d.pt[(b*64+j)*count+i] = v
			}
		}
	})
	clear(d.ap[:count*n])
	blas.Gradient(d.ap, d.pt, d.y.square, n, n, count, d.y.threads)
	d.rows(func(s *descending, c int, r, _, p, ap []float64) {
		for j, v := range p {
			ap[j] += float64(float64(s.mu*d.y.ridge[j]) * v)
		}
		o := &s.out[c]
		o.alpha = 0
		if curve := dot(p, ap); o.rz > 0 && curve > 0 {
			o.alpha = o.rz / curve
		}
		x := s.x[c*n:][:n]
		for j, v := range p {
			x[j] += float64(o.alpha * v)
			r[j] -= float64(o.alpha * ap[j])
		}
	})
	d.precondition()
	d.rows(func(s *descending, c int, r, z, p, ap []float64) {
		o := &s.out[c]
		beta := 0.0
		if o.rz > 0 {
			beta = -o.alpha * dot(z, ap) / o.rz
		}
		o.rz = dot(r, z)
		for j, v := range z {
			p[j] = v + float64(beta*p[j])
		}
	})
}

// precondition stores M⁻¹r in z, with each row scaled to size 1 for float32.
func (d *descent) precondition() {
	n, k := d.y.shape.Dim, d.y.shape.Outputs
	power := make([]int, len(d.systems)*k)
	parallel(len(power), d.y.threads, func(_, i int) {
		r := d.r[i*n:][:n]
		var most float64
		for _, v := range r {
			most = max(most, math.Abs(v))
		}
		_, power[i] = math.Frexp(most)
		unit := math.Ldexp(1, -power[i])
		for j, v := range r {
			d.z32[i*n+j] = float32(v * unit)
		}
	})
	for i := 0; i < len(d.systems); {
		f, first := d.systems[i].f, i
		for i < len(d.systems) && d.systems[i].f == f {
			i++
		}
		f.triangle.Solve(d.z32[first*k*n:], (i-first)*k, d.y.threads)
	}
	parallel(len(power), d.y.threads, func(_, i int) {
		unit := math.Ldexp(1, power[i])
		for j, v := range d.z32[i*n:][:n] {
			d.z[i*n+j] = float64(v) * unit
		}
	})
}

// drop removes the systems that are solved after so many steps, and those that will not be.
func (d *descent) drop(steps int) {
	size := d.y.shape.Outputs * d.y.shape.Dim
	late := 1.0
	if steps >= descentLate {
		late = math.Pow(descentTolerance, 2*float64(steps)/descentSteps)
	}
	left := d.systems[:0]
	for i, s := range d.systems {
		s.solved = true
		slow := false
		for _, o := range s.out {
			if !(o.rz <= descentTolerance*descentTolerance*o.first) {
				s.solved = false
			}
			slow = slow || steps >= descentLate && !(o.rz <= late*o.first)
		}
		if !s.solved && !slow {
			copy(d.p[len(left)*size:][:size], d.p[i*size:][:size])
			copy(d.r[len(left)*size:][:size], d.r[i*size:][:size])
			left = append(left, s)
		}
	}
	d.systems = left
}

// transpose stores the transpose of a, rows×cols, in dst.
func transpose(dst, a []float64, rows, cols int) {
	for i := range rows {
		for j, v := range a[i*cols:][:cols] {
			dst[j*rows+i] = v
		}
	}
}

func dot(a, b []float64) float64 {
	var s [1]float64
	blas.Dots(s[:], a, b, 0)
	return s[0]
}

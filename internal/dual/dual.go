package dual

import (
	"math"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// Problem is the dual problem.
type Problem struct {
	folds   []*Rows
	n       int
	kernel  []float64 // K, n×n
	square  []float64 // a part of it, with μ on its diagonal, and its factor
	y, u    []float64
	root    []float64 // R^(-½), by which the rows are multiplied, unless they are given
	given   bool      // the rows are those of the data
	plain   bool      // all features are penalised alike, R = I
	threads int
}

// New returns the dual problem of the rows of all folds, which it changes. ridge is R. mean (length D) and target
// (length k) are the means over all rows: the intercept takes them, so that nothing large cancels.
func New(folds []*Rows, mean, target, ridge []float64, threads int) *Problem {
	d, k := len(mean), len(target)
	f := &Problem{folds: folds, root: make([]float64, d), plain: true, threads: threads}
	for j, r := range ridge {
		f.root[j] = 1 / math.Sqrt(r)
		f.plain = f.plain && r == 1
	}
	for _, s := range folds {
		s.first = f.n
		f.n += s.n
	}
	f.y, f.u = make([]float64, f.n*k), make([]float64, f.n)
	for _, s := range folds {
		if s.n == 0 {
			continue
		}
		f.u[s.first] = s.root
		for j, m := range mean {
			s.z[j] -= float64(s.root * m)
		}
		for i := range s.z {
			s.z[i] *= f.root[i%d]
		}
		for c, m := range target {
			s.y[c] -= float64(s.root * m)
		}
		copy(f.y[s.first*k:], s.y)
	}
	f.kernel, f.square = blas.Make[float64](f.n*f.n), blas.Make[float64](f.n*f.n)
	for i, a := range folds {
		for _, b := range folds[:i] {
			f.product(a, 0, a.n, b, b.n, d)
		}
		// Half of a square is its mirror.
		for from := 0; from < a.n; from += strip {
			end := min(from+strip, a.n)
			f.product(a, from, end, a, end, d)
		}
	}
	return f
}

// strip is the number of rows of a symmetric block that are computed at once.
const strip = 192

// product stores the products of rows from first up to end of a with the first n of b in the kernel.
func (f *Problem) product(a *Rows, first, end int, b *Rows, n, d int) {
	block := f.square[:(end-first)*n]
	clear(block)
	blas.SubProduct(block, a.z[first*d:end*d], b.z, end-first, n, d, f.threads)
	for r := first; r < end; r++ {
		for c, v := range block[(r-first)*n:][:n] {
			f.kernel[(a.first+r)*f.n+b.first+c] = -v
			f.kernel[(b.first+c)*f.n+a.first+r] = -v
		}
	}
}

// Len returns the number of rows.
func (f *Problem) Len() int { return f.n }

// Bytes returns the most memory of a problem of that many rows, features and outputs.
func Bytes(rows int64, dim, outputs int) int64 {
	d, k := int64(dim), int64(outputs)
	return 8*rows*(d+2*k) + KernelBytes(rows) + 8*d*(2*blockSize+k)
}

// KernelBytes returns what New adds to the memory of the rows.
func KernelBytes(rows int64) int64 { return 16 * rows * rows }

// Fit says what a fit to the rows of all folds but one is like, each output with its factor.
type Fit struct {
	HeldOut float64 // Σ squares of the errors on the rows of that one
	Train   float64 // and on those of the others
	Squares float64 // of the weights
}

// Plain tells whether all features are penalised alike; Solve then needs no weights for a Fit.
func (f *Problem) Plain() bool { return f.plain }

// Solve fits to the rows of all folds but one. It computes the weights (D×k) into v, unless v is nil: then the problem must be
// Plain, or Squares are missing. ok is false if the matrix is not positive definite to working precision, which fails at a
// pivot.
func (f *Problem) Solve(v, each []float64, mu float64, fold int) (fit Fit, pivot int, ok bool) {
	out := f.folds[fold]
	k, end := len(each), out.first+out.n
	n := f.n - out.n
	// without copies what is not of the fold.
	without := func(dst, src []float64, width int) {
		copy(dst, src[:out.first*width])
		copy(dst[out.first*width:], src[end*width:])
	}
	place := func(i int) int { // of row i of the rest
		if i >= out.first {
			i += out.n
		}
		return i
	}
	parallel.Each(n, f.threads, func(_, i int) { // the lower triangle
		at := place(i)
		row, from := f.square[i*n:][:i+1], f.kernel[at*f.n:][:at+1]
		if at < end {
			copy(row, from)
		} else {
			copy(row, from[:out.first])
			copy(row[out.first:], from[end:])
		}
		row[i] += mu
	})
	right, targets, ones := make([]float64, n*(k+1)), make([]float64, n*k), make([]float64, n)
	without(targets, f.y, k)
	without(ones, f.u, 1)
	for i, u := range ones {
		copy(right[i*(k+1):], targets[i*k:][:k])
		right[i*(k+1)+k] = u
	}
	if pivot, ok := blas.Cholesky(f.square, n, f.threads); !ok {
		return fit, pivot, false
	}
	blas.CholeskySolve(f.square, n, right, k+1, f.threads)
	b := make([]float64, k+1) // u·x of each right side
	for i, u := range ones {
		for c := range b {
			b[c] += float64(u * right[i*(k+1)+c])
		}
	}
	all, rows := make([]float64, f.n*k), make([]float64, k*n) // α, and its transpose without the fold
	for c := range k {
		b[c] /= b[k]
		for i := range n {
			a := right[i*(k+1)+c] - float64(b[c]*right[i*(k+1)+k])
			all[place(i)*k+c], rows[c*n+i] = a, a
			// The residuals of the rows are μα, and VᵀRV = αᵀKα.
			off := float64(mu * a)
			fit.Train += float64(each[c] * float64(off*off))
			fit.Squares += float64(each[c] * float64(a*(targets[i*k+c]-float64(ones[i]*b[c])-off)))
		}
	}
	for i, s := range f.folds {
		for c := range s.other {
			if i != fold {
				fit.Train += float64(each[c] * s.other[c])
			}
		}
	}
	cross, errors := make([]float64, out.n*n), make([]float64, out.n*k)
	for i := range out.n {
		without(cross[i*n:][:n], f.kernel[(out.first+i)*f.n:][:f.n], 1)
		for c := range k {
			errors[i*k+c] = out.y[i*k+c] - float64(f.u[out.first+i]*b[c])
		}
	}
	blas.SubProduct(errors, cross, rows, out.n, k, n, f.threads)
	for i, e := range errors {
		fit.HeldOut += float64(each[i%k] * float64(e*e))
	}
	for c, s := range out.other {
		fit.HeldOut += float64(each[c] * s)
	}
	if v == nil {
		return fit, 0, true
	}
	f.weights(v, all, k)
	if !f.plain {
		fit.Squares = 0
		for i, w := range v {
			fit.Squares += float64(each[i%k] * float64(w*w))
		}
	}
	return fit, 0, true
}

// weights stores V = R⁻¹Zᵀα in v.
func (f *Problem) weights(v, alpha []float64, k int) {
	d := len(f.root)
	vt := make([]float64, k*d)
	for _, s := range f.folds {
		if f.given {
			f.gradient(vt, alpha[s.first*k:], s, d, k)
		} else {
			blas.Gradient(vt, alpha[s.first*k:], s.z, s.n, d, k, f.threads)
		}
	}
	for c := range k {
		for j, w := range vt[c*d:][:d] {
			if v[j*k+c] = w * f.root[j]; f.given {
				v[j*k+c] *= f.root[j]
			}
		}
	}
}

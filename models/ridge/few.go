package ridge

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
)

// Few rows. The sum of a fold has, but for a rotation, the rows themselves: with s = Σz and n
// rows, Σzzᵀ = s sᵀ/n + BᵀB, where B is r×D from a pivoted Cholesky factorisation of the centred
// matrix, r below n. So the rows s/√n and B, of which the first has √n in the column of ones and
// the others 0, have the sums of the fold, and so has a target of each that solves
// Bᵀy = Σzq - s t/n. Ridge and its errors are functions of the sums, so these rows serve as well
// as the data. With fewer rows than features the dual problem is the smaller one: with
// K = ZΛ⁻¹Zᵀ, u the column of ones, and μ and Λ as in system,
//
//	(K + μI)α = y - u b,   uᵀα = 0,   V = Λ⁻¹Zᵀα,
//
// and a held-out fold has the residuals y_f - K_f α - u_f b.

const (
	// fewTolerance is the largest part of the squares of a feature that a fold's rows may miss,
	// relative to those of the largest. It is far below the rounding of features to a grid, and
	// above that of float64.
	fewTolerance = 0x1p-42

	fewBlock = 32 // pivots that are looked for at once

	// fewTries is the number of rows up to which all values of λ are tried on all folds.
	fewTries = 1024
)

// few tells whether so many rows are few. If only the first fold judges, about three systems are solved, which takes less
// than finding what stands in for more than half as many rows as features.
func few(shape Shape, rows int64, first bool) bool {
	most := int64(shape.Dim)
	if first {
		most /= 2
	}
	return shape.Dim >= partFrom && rows <= most
}

// standIn is what stands in for the rows of a fold.
type standIn struct {
	sum   *Sum      // head and cross products
	rows  int       // 0 if the fold is empty
	z     []float64 // rows×D; the first is s/√n
	y     []float64 // rows×k
	other []float64 // for each output, Σ(q-q̄)² that no row has

	first int // position of the first row among those of all folds
}

// standInFor returns rows that have the sums of a fold.
func standInFor(fold *Sum, threads int) *standIn {
	d, k, w := fold.shape.Dim, fold.shape.Outputs, fold.shape.width()
	s := &standIn{sum: &Sum{shape: fold.shape, head: slices.Clone(fold.head), cross: slices.Clone(fold.cross)}}
	n := fold.head[0]
	if n == 0 {
		return s
	}
	mean := make([]float64, d)
	fold.columnSums(mean)
	for j := range mean {
		mean[j] /= n
	}
	pivots, z := pivoted(fold, mean, threads)
	r := len(pivots)
	s.rows, s.z, s.y, s.other = r+1, z, make([]float64, (r+1)*k), make([]float64, k)
	for j, m := range mean {
		z[j] = math.Sqrt(n) * m
	}
	// The triangle of B at the pivots, and the sums there.
	l, x := make([]float64, r*r), make([]float64, k*r)
	for i, p := range pivots {
		for j := range i + 1 {
			l[i*r+j] = z[(j+1)*d+p]
		}
		for c := range k {
			x[c*r+i] = fold.cross[p*w+c] - float64(mean[p]*fold.head[1+c])
		}
	}
	blas.SolveRows(x, k, l, r, false, threads)
	for c := range k {
		s.y[c] = fold.head[1+c] / math.Sqrt(n)
		s.other[c] = centredSquares(fold, nil, c)
		for i, v := range x[c*r:][:r] {
			s.y[(i+1)*k+c] = v
			s.other[c] -= float64(v * v)
		}
		s.other[c] = max(s.other[c], 0)
	}
	return s
}

// pivoted returns features that span all that differs from the mean, and, after a row of zeros,
// rows B with BᵀB = Σ(z-z̄)(z-z̄)ᵀ: a Cholesky factorisation that takes blocks of the features of
// which most is left (Harbrecht, Peters & Schneider 2012).
func pivoted(fold *Sum, mean []float64, threads int) (pivots []int, z []float64) {
	d, n := fold.shape.Dim, fold.head[0]
	most := int(min(fold.Rows(), int64(d)))
	at := func(i, j int) float64 {
		return fold.at(max(i, j), min(i, j)) - float64(float64(n*mean[i])*mean[j])
	}
	left := make([]float64, d) // the squares of each feature that the pivots do not have
	order := make([]int, d)
	for j := range left {
		left[j] = at(j, j)
	}
	least := fewTolerance * slices.Max(left)
	z = blas.Make[float64]((most + 1) * d)
	rest, factors := blas.Make[float64](fewBlock*d), make([]float64, most*fewBlock)
	for len(pivots) < most {
		for j := range order {
			order[j] = j
		}
		slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(left[j], left[i]), cmp.Compare(i, j)) })
		block := order[:min(fewBlock, d)]
		top := left[block[0]]
		if !(top > least) {
			break
		}
		// What is left of the columns of the block.
		b, r := len(block), len(pivots)
		for a, p := range block {
			for j := range d {
				rest[a*d+j] = at(j, p)
			}
			for i := range r {
				factors[i*b+a] = -z[(i+1)*d+p]
			}
		}
		blas.Gradient(rest, factors, z[d:], r, d, b, threads)
		// Pivots within the block, as long as they are not much smaller than its first.
		taken := make([]bool, b)
		for len(pivots) < most {
			best := -1
			for a, p := range block {
				if !taken[a] && (best < 0 || left[p] > left[block[best]]) {
					best = a
				}
			}
			if best < 0 {
				break
			}
			p, column := block[best], rest[best*d:][:d]
			if !(left[p] > least) || left[p] < top/16 || !(column[p] > 0) {
				break
			}
			taken[best] = true
			root := math.Sqrt(column[p])
			for j := range column {
				column[j] /= root
				left[j] -= float64(column[j] * column[j])
			}
			left[p] = 0
			for a, q := range block {
				if !taken[a] {
					v := column[q]
					for j, u := range column {
						rest[a*d+j] -= float64(v * u)
					}
				}
			}
			pivots = append(pivots, p)
			copy(z[len(pivots)*d:], column)
		}
		if !slices.Contains(taken, true) {
			break
		}
	}
	return pivots, z[:(len(pivots)+1)*d]
}

// fewRows is the dual problem.
type fewRows struct {
	folds   []*standIn
	n       int
	kernel  []float64 // K, n×n
	square  []float64 // a part of it, with μ on its diagonal, and its factor
	y, u    []float64
	root    []float64 // Λ^(-½), by which the rows are multiplied
	threads int
}

// newFewRows returns the dual problem of stand-ins for all rows, which it changes. λ must be large
// enough for the matrix of all features to be positive definite to working precision; otherwise it
// returns nil.
func (p *path) newFewRows(folds []*standIn, y *system, total *Sum) *fewRows {
	d, k := total.shape.Dim, total.shape.Outputs
	y.mass = y.masses(total.head)
	least := math.Inf(1)
	for _, v := range p.values {
		least = min(least, p.mu(y, v))
	}
	for j := range d {
		if !(least*y.ridge[j] > float64(d)*0x1p-50*total.at(j, j)) {
			return nil
		}
	}
	f := &fewRows{folds: folds, root: make([]float64, d), threads: p.Threads}
	for j, r := range y.ridge {
		f.root[j] = 1 / math.Sqrt(r)
	}
	for _, s := range folds {
		s.first = f.n
		f.n += s.rows
	}
	f.y, f.u = make([]float64, f.n*k), make([]float64, f.n)
	// Means of all rows, which the intercept takes, so that nothing large cancels.
	mean := make([]float64, d)
	total.columnSums(mean)
	for _, s := range folds {
		if s.rows == 0 {
			continue
		}
		root := math.Sqrt(s.sum.head[0])
		f.u[s.first] = root
		for j := range d {
			s.z[j] -= root * (mean[j] / total.head[0])
		}
		for i := range s.z {
			s.z[i] *= f.root[i%d]
		}
		for c := range k {
			s.y[c] -= root * (total.head[1+c] / total.head[0])
		}
		copy(f.y[s.first*k:], s.y)
	}
	f.kernel, f.square = blas.Make[float64](f.n*f.n), blas.Make[float64](f.n*f.n)
	for i, a := range folds {
		for _, b := range folds[:i+1] {
			block := f.square[:a.rows*b.rows]
			clear(block)
			blas.SubProduct(block, a.z, b.z, a.rows, b.rows, d, p.Threads)
			for r := range a.rows {
				for c, v := range block[r*b.rows:][:b.rows] {
					f.kernel[(a.first+r)*f.n+b.first+c] = -v
					f.kernel[(b.first+c)*f.n+a.first+r] = -v
				}
			}
		}
	}
	return f
}

// solve computes the weights for the rows of all folds but one into y.v, and returns the squared
// errors on the rows of that one, with the factors of the outputs. ok is false if the matrix is not positive definite to
// working precision.
func (f *fewRows) solve(y *system, mu float64, fold int) (held float64, pivot int, ok bool) {
	out := f.folds[fold]
	k, end := y.shape.Outputs, out.first+out.rows
	n := f.n - out.rows
	// without copies what is not of the fold.
	without := func(dst, src []float64, width int) {
		copy(dst, src[:out.first*width])
		copy(dst[out.first*width:], src[end*width:])
	}
	place := func(i int) int { // of row i of the rest
		if i >= out.first {
			i += out.rows
		}
		return i
	}
	parallel(n, f.threads, func(_, i int) {
		without(f.square[i*n:][:n], f.kernel[place(i)*f.n:][:f.n], 1)
		f.square[i*n+i] += mu
	})
	right, targets, ones := make([]float64, n*(k+1)), make([]float64, n*k), make([]float64, n)
	without(targets, f.y, k)
	without(ones, f.u, 1)
	for i, u := range ones {
		copy(right[i*(k+1):], targets[i*k:][:k])
		right[i*(k+1)+k] = u
	}
	if pivot, ok := blas.Cholesky(f.square, n, f.threads); !ok {
		return 0, pivot, false
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
			v := right[i*(k+1)+c] - float64(b[c]*right[i*(k+1)+k])
			all[place(i)*k+c], rows[c*n+i] = v, v
		}
	}
	cross, errors := make([]float64, out.rows*n), make([]float64, out.rows*k)
	for i := range out.rows {
		without(cross[i*n:][:n], f.kernel[(out.first+i)*f.n:][:f.n], 1)
		for c := range k {
			errors[i*k+c] = out.y[i*k+c] - float64(f.u[out.first+i]*b[c])
		}
	}
	blas.SubProduct(errors, cross, rows, out.rows, k, n, f.threads)
	for i, e := range errors {
		held += float64(y.each[i%k] * float64(e*e))
	}
	for c, s := range out.other {
		held += float64(y.each[c] * s)
	}
	f.weights(y, all)
	return held, 0, true
}

// weights stores V = Λ⁻¹Zᵀα in y.v.
func (f *fewRows) weights(y *system, alpha []float64) {
	d, k := y.shape.Dim, y.shape.Outputs
	vt := make([]float64, k*d)
	for _, s := range f.folds {
		blas.Gradient(vt, alpha[s.first*k:], s.z, s.rows, d, k, f.threads)
	}
	for i := range vt {
		vt[i] *= f.root[i%d]
	}
	transpose(y.v, vt, k, d)
}

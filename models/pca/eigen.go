package pca

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// Symmetric returns the eigenvalues of the symmetric m×m matrix a, descending, and the eigenvectors, one
// per row. It destroys a.
//
// It is Jacobi's method, cyclic by rows (Golub and Van Loan 2013, §8.5): slow for large m, but accurate, and fast if
// a is nearly diagonal, like the small matrices of a basis that is rotated repeatedly.
func Symmetric(a []float64, m int) (values, vectors []float64) {
	v := make([]float64, m*m)
	for i := range m {
		v[i*m+i] = 1
	}
	var norm float64
	for _, x := range a {
		norm += float64(x * x)
	}
	tiny := 0x1p-53 * math.Sqrt(norm) / float64(max(m, 1))
	for range 60 {
		turned := false
		for p := range m {
			for q := p + 1; q < m; q++ {
				if x := a[p*m+q]; math.Abs(x) > tiny {
					turned = true
					rotate(a, v, m, p, q)
				}
			}
		}
		if !turned {
			break
		}
	}
	order := make([]int, m)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(a[j*m+j], a[i*m+i]) })
	vectors = make([]float64, 0, m*m)
	for _, i := range order {
		values = append(values, a[i*m+i])
		vectors = append(vectors, v[i*m:(i+1)*m]...)
	}
	return values, vectors
}

// rotate makes a_pq zero.
func rotate(a, v []float64, m, p, q int) {
	apq := a[p*m+q]
	tau := (a[q*m+q] - a[p*m+p]) / (2 * apq)
	t := 1 / (math.Abs(tau) + math.Sqrt(1+float64(tau*tau)))
	if tau < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(1+float64(t*t))
	s := float64(t * c)
	turn(a[p*m:(p+1)*m], a[q*m:(q+1)*m], c, s)
	for i := range m {
		x, y := a[i*m+p], a[i*m+q]
		a[i*m+p], a[i*m+q] = float64(c*x)-float64(s*y), float64(s*x)+float64(c*y)
	}
	a[p*m+q], a[q*m+p] = 0, 0
	turn(v[p*m:(p+1)*m], v[q*m:(q+1)*m], c, s)
}

func turn(x, y []float64, c, s float64) {
	y = y[:len(x)]
	for i, a := range x {
		b := y[i]
		x[i], y[i] = float64(c*a)-float64(s*b), float64(s*a)+float64(c*b)
	}
}

var starts = stream.PurposeOf("pca start")

const (
	extraVectors      = 10    // vectors beyond those wanted, and vectors added at a time
	maxBlocks         = 4     // blocks of extraVectors before the basis is cut
	relativeTolerance = 1e-10 // of residuals, relative to the largest eigenvalue
	maxSteps          = 1000
)

// maxBasis is the largest number of vectors of the basis.
func maxBasis(d, k int) int { return min(d, k+extraVectors*(1+maxBlocks)) }

// Top returns the k largest eigenvalues of the symmetric d×d matrix c, descending, and their eigenvectors,
// one per row.
//
// It is the block Davidson method without a preconditioner, which for a symmetric matrix spans the same
// space as block Lanczos with thick restarts (Stathopoulos and Saad 1998): the basis is extended by
// residuals of the Ritz pairs, and cut down to the best Ritz vectors when it is full. It starts with more
// random vectors than k, so that all of several equal eigenvalues are found.
func Top(c []float64, d, k int, seed uint64, threads int) (vectors, values []float64, err error) {
	b := &basis{c: c, d: d, threads: threads}
	random := stream.New(seed, starts, 0)
	fresh := make([]float64, min(d, k+extraVectors)*d)
	for i := range fresh {
		fresh[i] = random.Normal()
	}
	for range maxSteps {
		b.extend(fresh)
		if b.m < min(d, k+extraVectors) {
			// The residuals were in the span of the basis: add random vectors.
			fresh = make([]float64, extraVectors*d)
			for i := range fresh {
				fresh[i] = random.Normal()
			}
			continue
		}
		values = b.ritz(k + extraVectors)
		fresh = b.residuals(values, k)
		if len(fresh) == 0 || b.m == d {
			return b.q[:k*d], values[:k], nil
		}
	}
	return nil, nil, fmt.Errorf("pca: %d components: no convergence after %d steps", k, maxSteps)
}

// basis is an orthonormal basis with its images.
type basis struct {
	c          []float64 // d×d
	d, threads int

	m    int
	q, a []float64 // m×d: vectors and their products with c
	t    []float64 // m×m: q·c·qᵀ
}

// extend adds vectors to the basis, except those already in its span. It overwrites x.
func (b *basis) extend(x []float64) {
	d, from := b.d, b.m
	dots := make([]float64, b.m+len(x)/d)
	for ; len(x) > 0 && b.m < d; x = x[d:] {
		v := x[:d]
		before := math.Sqrt(blas.Dot64(v, v))
		if !(before > 0) {
			continue
		}
		scale(v, 1/before)
		// Two passes are enough (Parlett 1980, §6.9).
		for i := 0; i < 2 && b.m > 0; i++ {
			blas.Dots(dots[:b.m], v, b.q, d)
			scale(dots[:b.m], -1)
			parallel.Ranges(d, 512, b.threads, func(lo, hi int) {
				combine(v[lo:hi], dots[:b.m], b.q[lo:], d)
			})
		}
		left := math.Sqrt(blas.Dot64(v, v))
		if left < 1e-10 {
			continue
		}
		scale(v, 1/left)
		b.q = append(b.q, v...)
		b.m++
	}
	n := b.m - from
	if n == 0 {
		return
	}
	b.a = append(b.a, make([]float64, n*d)...)
	parallel.Ranges(d, 64, b.threads, func(lo, hi int) {
		images := make([]float64, n)
		for j := lo; j < hi; j++ {
			blas.Dots(images, b.c[j*d:(j+1)*d], b.q[from*d:], d)
			for i, v := range images {
				b.a[(from+i)*d+j] = v
			}
		}
	})
	t := make([]float64, b.m*b.m)
	for i := range from {
		copy(t[i*b.m:], b.t[i*from:(i+1)*from])
	}
	parallel.Ranges(n, 1, b.threads, func(lo, hi int) {
		for i := from + lo; i < from+hi; i++ {
			blas.Dots(t[i*b.m:i*b.m+i+1], b.a[i*d:(i+1)*d], b.q, d)
		}
	})
	for i := from; i < b.m; i++ {
		for j := range i {
			t[j*b.m+i] = t[i*b.m+j]
		}
	}
	b.t = t
}

// ritz rotates the basis so that t is diagonal with descending values, which it returns, and cuts a full
// basis down to keep vectors.
func (b *basis) ritz(keep int) []float64 {
	m, d := b.m, b.d
	values, y := Symmetric(b.t, m)
	n := m
	if m+extraVectors > maxBasis(d, keep-extraVectors) && m < d {
		n = min(m, keep)
	}
	for _, v := range []*[]float64{&b.q, &b.a} {
		turned := make([]float64, n*d)
		parallel.Ranges(d, 512, b.threads, func(lo, hi int) {
			for i := range n {
				combine(turned[i*d+lo:i*d+hi], y[i*m:(i+1)*m], (*v)[lo:], d)
			}
		})
		*v = turned
	}
	b.m, b.t = n, make([]float64, n*n)
	for i := range n {
		b.t[i*n+i] = values[i]
	}
	return values[:n]
}

// residuals returns c·q − θ·q for the first pairs among k that have not converged.
func (b *basis) residuals(values []float64, k int) (out []float64) {
	for i := 0; i < k && len(out) < extraVectors*b.d; i++ {
		r := make([]float64, b.d)
		copy(r, b.a[i*b.d:])
		blas.Axpy64(-values[i], b.q[i*b.d:(i+1)*b.d], r)
		if math.Sqrt(blas.Dot64(r, r)) > relativeTolerance*math.Abs(values[0]) {
			out = append(out, r...)
		}
	}
	return out
}

// combine adds Σ_j a_j·x_j to y, where x_j begins at j·stride, four at a time so that y
// is read and written less often.
func combine(y, a, x []float64, stride int) {
	for ; len(a) >= 4; a = a[4:] {
		a0, a1, a2, a3 := a[0], a[1], a[2], a[3]
		x0, x1, x2, x3 := x[:len(y)], x[stride:][:len(y)], x[2*stride:][:len(y)], x[3*stride:][:len(y)]
		for i, v := range y {
			y[i] = v + ((float64(a0*x0[i]) + float64(a1*x1[i])) + (float64(a2*x2[i]) + float64(a3*x3[i])))
		}
		if len(a) == 4 {
			return
		}
		x = x[4*stride:]
	}
	for j, v := range a {
		blas.Axpy64(v, x[j*stride:][:len(y)], y)
	}
}

func scale(x []float64, a float64) {
	for i := range x {
		x[i] *= a
	}
}

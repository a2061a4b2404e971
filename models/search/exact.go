package search

import (
	"errors"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/bandwidth"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models/loss"
)

// radial returns the kernel of a recipe as a function of the distance over the width; nil if it is not
// known in closed form.
func radial(r features.Recipe) func(t float64) float64 {
	switch r := r.(type) {
	case fourier.Gaussian:
		return radialGaussian
	case fourier.Laplace:
		return func(t float64) float64 { return loss.Exp(-t) }
	case fourier.Matern:
		s := math.Sqrt(2 * r.Nu)
		switch r.Nu {
		case 0.5:
			return func(t float64) float64 { return loss.Exp(-t) }
		case 1.5:
			return func(t float64) float64 { t = float64(t * s); return float64((1 + t) * loss.Exp(-t)) }
		case 2.5:
			return func(t float64) float64 {
				t = float64(t * s)
				return float64((1 + t + float64(t*t)/3) * loss.Exp(-t))
			}
		}
	}
	return nil
}

func radialGaussian(t float64) float64 { return loss.Exp(-float64(t*t) / 2) }

// subset is the rows of the pilot that a level has a part for.
type subset struct {
	rows []int // ascending
	at   []int // where a row of the pilot is in rows
}

// newSubset returns the rows for which has is true.
func newSubset(n int, has func(row int) bool) *subset {
	s := &subset{at: make([]int, n)}
	for i := range n {
		if has(i) {
			s.at[i] = len(s.rows)
			s.rows = append(s.rows, i)
		}
	}
	return s
}

// of returns those rows of x, of d numbers each.
func (s *subset) of(x []float32, d int) []float32 {
	dst := make([]float32, 0, len(s.rows)*d)
	for _, i := range s.rows {
		dst = append(dst, x[i*d:(i+1)*d]...)
	}
	return dst
}

// distances are those between rows of a view.
type distances struct {
	*subset
	n       int
	between []float32 // n×n
}

// newDistances computes the distances of some rows of x.
func newDistances(x []float32, dim int, rows *subset, of bandwidth.Distance, threads int) *distances {
	n := len(rows.rows)
	d := &distances{subset: rows, n: n, between: make([]float32, n*n)}
	x = rows.of(x, dim)
	// Rows of a triangle, the longest first.
	parallel.Ranges(n, 8, threads, func(lo, hi int) {
		for i := n - hi; i < n-lo; i++ {
			a := x[i*dim : (i+1)*dim]
			for j := range i {
				b := x[j*dim:][:len(a)]
				var sum float64
				if of == bandwidth.L1 {
					for k, v := range a {
						sum += math.Abs(float64(v) - float64(b[k]))
					}
				} else {
					for k, v := range a {
						e := float64(v) - float64(b[k])
						sum += float64(e * e)
					}
					sum = math.Sqrt(sum)
				}
				d.between[i*n+j], d.between[j*n+i] = float32(sum), float32(sum)
			}
		}
	})
	return d
}

// matrix is a kernel matrix of rows of the pilot.
type matrix struct {
	*subset
	n int
	k []float64 // n×n
}

// newMatrix computes the kernel of rows at a width.
func newMatrix(kernel func(float64) float64, d *distances, width float64) *matrix {
	n := d.n
	m := &matrix{d.subset, n, make([]float64, n*n)}
	inverse := 1 / width
	for i := range n {
		for j, t := range d.between[i*n:][:i] {
			v := kernel(float64(float64(t) * inverse))
			m.k[i*n+j], m.k[j*n+i] = v, v
		}
		m.k[i*n+i] = 1
	}
	return m
}

// exact is kernel ridge regression without features, which few rows allow: with the rows' weights w
// and means weighted by them,
//
//	scores = (K_x − means) α + ȳ,   α = (HKHᵀ + λ Σw diag(1/w))⁻¹ (Y − ȳ)
//
// It is what features tend to as their number grows.
type exact struct {
	labels  *labels
	train   []int
	k       []float64 // HKHᵀ, n×n
	cross   []float64 // centred, judged rows × n
	judged  int
	y       []float64 // Y − ȳ, n×outputs
	mean    []float64 // ȳ
	mass    float64   // Σw
	square  []float64 // scratch of scores, n×n
	threads int
}

func newExact(all *matrix, train, judge []int, l *labels, threads int) *exact {
	n, m, k := len(train), len(judge), l.outputs
	e := &exact{labels: l, train: train, judged: m, threads: threads, k: make([]float64, n*n), cross: make([]float64, m*n), y: make([]float64, n*k), mean: make([]float64, k)}
	share := make([]float64, n) // of the weights
	for _, i := range train {
		e.mass += l.weight(i)
	}
	for a, i := range train {
		share[a] = l.weight(i) / e.mass
		for c := range k {
			e.y[a*k+c] = l.code(i, c)
			e.mean[c] += float64(share[a] * e.y[a*k+c])
		}
	}
	for i := range e.y {
		e.y[i] -= e.mean[i%k]
	}
	// row stores the kernel of row i and the training rows in dst, and returns its mean.
	row := func(dst []float64, i int) (mean float64) {
		from := all.k[all.at[i]*all.n:][:all.n]
		for b, j := range train {
			dst[b] = from[all.at[j]]
			mean += float64(share[b] * dst[b])
		}
		return mean
	}
	means, mean := make([]float64, n), 0.0
	for a, i := range train {
		means[a] = row(e.k[a*n:(a+1)*n], i)
		mean += float64(share[a] * means[a])
	}
	for at, i := range judge {
		dst := e.cross[at*n : (at+1)*n]
		own := row(dst, i)
		for b := range dst {
			dst[b] += mean - means[b] - own
		}
	}
	for a := range n {
		dst := e.k[a*n : (a+1)*n]
		for b := range dst {
			dst[b] += mean - means[b] - means[a]
		}
	}
	return e
}

// code returns the target of output c of row i.
func (l *labels) code(i, c int) float64 {
	switch {
	case l.grid != nil:
		return float64(l.scaled[i])
	case int(l.y[i]) == c:
		return 1
	}
	return -1
}

var errNotDefinite = errors.New("search: the kernel matrix is not positive definite")

// scores stores the scores of the judged rows for λ.
func (e *exact) scores(lambda float64, scores []float32) error {
	n, k := len(e.train), e.labels.outputs
	if e.square == nil {
		e.square = make([]float64, n*n)
	}
	a := e.square
	for i, row := range e.train { // the lower triangle
		copy(a[i*n:][:i+1], e.k[i*n:])
		a[i*n+i] += float64(lambda * e.mass / e.labels.weight(row))
	}
	if _, ok := blas.Cholesky(a, n, e.threads); !ok {
		return errNotDefinite
	}
	alpha := append([]float64(nil), e.y...)
	blas.CholeskySolve(a, n, alpha, k, e.threads)
	sums := make([]float64, k)
	for at := range e.judged {
		row := e.cross[at*n : (at+1)*n]
		copy(sums, e.mean)
		for b, v := range row {
			for c, a := range alpha[b*k:][:k] {
				sums[c] += float64(v * a)
			}
		}
		for c, sum := range sums {
			scores[at*k+c] = float32(sum)
		}
	}
	return nil
}

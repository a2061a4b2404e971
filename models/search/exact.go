package search

import (
	"errors"

	"github.com/bochner-ml/bochner/internal/blas"
)

// scratch is memory that trials reuse: allocating a new matrix costs as much time as filling it.
type scratch struct {
	all, pair, k, cross, square []float64
	scores                      []float32 // of the judged rows
}

// grow returns *s with length n, reallocated if it is too small. Its elements are undefined.
func grow(s *[]float64, n int) []float64 {
	if cap(*s) < n {
		*s = blas.Make[float64](n)
	}
	return (*s)[:n]
}

// exactRidge is kernel ridge regression without features, for few rows. With weights w of the rows, weighted means, H
// for centring, K the kernel matrix and K_x the kernel between judged and training rows,
//
//	scores = (K_x − means) α + ȳ,   α = (HKHᵀ + λ Σw diag(1/w))⁻¹ (Y − ȳ)
//
// Ridge regression on random features tends to it as their number grows.
type exactRidge struct {
	labels  *labels
	train   []int
	k       []float64 // HKHᵀ, n×n; its lower triangle
	cross   []float64 // centred, judged rows × n
	judged  int
	y       []float64 // Y − ȳ, n×outputs
	mean    []float64 // ȳ
	mass    float64   // Σw
	square  []float64 // of scores, n×n
	threads int
}

// newExactRidge prepares a fit to the rows train, in ascending order. s is memory.
func newExactRidge(all *kernelMatrix, train, judge []int, l *labels, s *scratch, threads int) *exactRidge {
	n, m, k := len(train), len(judge), l.outputs
	e := &exactRidge{labels: l, train: train, judged: m, threads: threads, k: grow(&s.k, n*n), cross: grow(&s.cross, m*n),
		square: grow(&s.square, n*n), y: make([]float64, n*k), mean: make([]float64, k)}
	share := make([]float64, n) // of the weights
	for _, i := range train {
		e.mass += l.weights[i]
	}
	at := make([]int, n)
	for a, i := range train {
		at[a] = all.At[i]
		share[a] = l.weights[i] / e.mass
		for c := range k {
			e.y[a*k+c] = l.code(i, c)
			e.mean[c] += float64(share[a] * e.y[a*k+c])
		}
	}
	for i := range e.y {
		e.y[i] -= e.mean[i%k]
	}
	means, mean := make([]float64, n), 0.0
	for a, i := range at {
		from, dst, weight := all.K[triangle(i):][:i+1], e.k[a*n:][:a+1], share[a]
		sum := 0.0
		for b, j := range at[:a] {
			v := from[j]
			dst[b] = v
			sum += float64(share[b] * v)
			means[b] += float64(weight * v)
		}
		dst[a] = from[i]
		means[a] = sum + float64(weight*from[i])
	}
	for a, v := range means {
		mean += float64(share[a] * v)
	}
	for p, i := range judge {
		dst, rowMean := e.cross[p*n:(p+1)*n], 0.0
		i = all.At[i]
		from := all.K[triangle(i):][:i+1]
		for b, j := range at {
			if j <= i {
				dst[b] = from[j]
			} else {
				dst[b] = all.K[triangle(j)+i]
			}
			rowMean += float64(share[b] * dst[b])
		}
		for b := range dst {
			dst[b] += mean - means[b] - rowMean
		}
	}
	for a := range n {
		dst, rowMean := e.k[a*n:][:a+1], means[a]
		for b := range dst {
			dst[b] += mean - means[b] - rowMean
		}
	}
	return e
}

// code returns the target of row i, scaled by the range of all targets; for classes 1 if c is the class of the
// row, otherwise −1.
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

// scores stores the scores of the judged rows for λ. errNotDefinite means that the matrix cannot be factored.
func (e *exactRidge) scores(lambda float64, scores []float32) error {
	n, k := len(e.train), e.labels.outputs
	a := e.square
	for i, row := range e.train { // the lower triangle
		copy(a[i*n:][:i+1], e.k[i*n:])
		a[i*n+i] += float64(lambda * e.mass / e.labels.weights[row])
	}
	if _, ok := blas.Cholesky(a, n, e.threads); !ok {
		return errNotDefinite
	}
	alpha := append([]float64(nil), e.y...)
	blas.CholeskySolve(a, n, alpha, k, e.threads)
	// What is subtracted from −ȳ is K_x·α, by α as rows.
	rows, sums := make([]float64, k*n), make([]float64, e.judged*k)
	for i, v := range alpha {
		rows[i%k*n+i/k] = v
	}
	for i := range sums {
		sums[i] = -e.mean[i%k]
	}
	blas.SubProduct(sums, e.cross, rows, e.judged, k, n, e.threads)
	for i, sum := range sums {
		scores[i] = float32(-sum)
	}
	return nil
}

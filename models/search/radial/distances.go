// Package radial computes matrices of kernels that are functions of the distance of two rows: kernel methods without
// features, which few rows allow.
package radial

import (
	"math"

	"github.com/bochner-ml/bochner/features/bandwidth"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// Rows are some of the rows of a matrix.
type Rows struct {
	rows []int // ascending
	At   []int // where each row of the matrix is among them; 0 of others
}

// NewRows returns those of n rows for which has is true.
func NewRows(n int, has func(row int) bool) *Rows {
	r := &Rows{At: make([]int, n)}
	for i := range n {
		if has(i) {
			r.At[i] = len(r.rows)
			r.rows = append(r.rows, i)
		}
	}
	return r
}

// Of returns those rows of x, of d numbers each.
func (r *Rows) Of(x []float32, d int) []float32 {
	dst := make([]float32, 0, len(r.rows)*d)
	for _, i := range r.rows {
		dst = append(dst, x[i*d:(i+1)*d]...)
	}
	return dst
}

// Triangle returns where row i of a lower triangle begins, whose rows lie one after the other; of n rows it is their
// size.
func Triangle(i int) int { return i * (i + 1) / 2 }

// Distances are those between rows.
type Distances struct {
	*Rows
	N       int       // rows
	between []float32 // lower triangle
}

// NewDistances computes the distances of some rows of x, of dim numbers each.
func NewDistances(x []float32, dim int, rows *Rows, of bandwidth.Distance, threads int) *Distances {
	n := len(rows.rows)
	d := &Distances{Rows: rows, N: n, between: make([]float32, Triangle(n))}
	wide := make([]float64, 0, n*dim)
	for _, i := range rows.rows {
		for _, v := range x[i*dim : (i+1)*dim] {
			wide = append(wide, float64(v))
		}
	}
	row := euclidean
	if of == bandwidth.L1 {
		row = absolute
	}
	// Rows of a triangle, the longest first.
	parallel.Ranges(n, 8, threads, func(lo, hi int) {
		for i := n - hi; i < n-lo; i++ {
			row(d.between[Triangle(i):][:i], wide[i*dim:(i+1)*dim], wide)
		}
	})
	return d
}

// euclidean stores the Euclidean distances of a and the first rows of x. Four sums at a time do not wait for each
// other.
func euclidean(dst []float32, a, x []float64) {
	d := len(a)
	for ; len(dst) >= 4; dst, x = dst[4:], x[4*d:] {
		p, q, r, s := x[:d], x[d:][:d], x[2*d:][:d], x[3*d:][:d]
		var s0, s1, s2, s3 float64
		for k, v := range a {
			e, f, g, h := v-p[k], v-q[k], v-r[k], v-s[k]
			s0 += float64(e * e)
			s1 += float64(f * f)
			s2 += float64(g * g)
			s3 += float64(h * h)
		}
		dst[0], dst[1], dst[2], dst[3] = float32(math.Sqrt(s0)), float32(math.Sqrt(s1)), float32(math.Sqrt(s2)), float32(math.Sqrt(s3))
	}
	for j := range dst {
		var sum float64
		for k, v := range a {
			e := v - x[j*d+k]
			sum += float64(e * e)
		}
		dst[j] = float32(math.Sqrt(sum))
	}
}

// absolute is euclidean for sums of absolute differences.
func absolute(dst []float32, a, x []float64) {
	d := len(a)
	for ; len(dst) >= 4; dst, x = dst[4:], x[4*d:] {
		p, q, r, s := x[:d], x[d:][:d], x[2*d:][:d], x[3*d:][:d]
		var s0, s1, s2, s3 float64
		for k, v := range a {
			s0 += math.Abs(v - p[k])
			s1 += math.Abs(v - q[k])
			s2 += math.Abs(v - r[k])
			s3 += math.Abs(v - s[k])
		}
		dst[0], dst[1], dst[2], dst[3] = float32(s0), float32(s1), float32(s2), float32(s3)
	}
	for j := range dst {
		var sum float64
		for k, v := range a {
			sum += math.Abs(v - x[j*d+k])
		}
		dst[j] = float32(sum)
	}
}

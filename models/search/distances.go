package search

import (
	"math"

	"github.com/bochner-ml/bochner/features/bandwidth"
	"github.com/bochner-ml/bochner/internal/parallel"
)

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

// triangle returns where row i of a lower triangle begins, whose rows lie one after the other.
func triangle(i int) int { return i * (i + 1) / 2 }

// distances are those between rows of a view.
type distances struct {
	*subset
	n       int
	between []float32 // lower triangle
}

// newDistances computes the distances of some rows of x.
func newDistances(x []float32, dim int, rows *subset, of bandwidth.Distance, threads int) *distances {
	n := len(rows.rows)
	d := &distances{subset: rows, n: n, between: make([]float32, triangle(n))}
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
			row(d.between[triangle(i):][:i], wide[i*dim:(i+1)*dim], wide)
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

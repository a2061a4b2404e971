package search

import (
	"math"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// radialRows are the rows of a pilot that a rung uses.
type radialRows struct {
	rows []int // ascending
	At   []int // where each row of the matrix is among them; 0 of others
}

// newRadialRows returns the rows, of n, for which has is true.
func newRadialRows(n int, has func(row int) bool) *radialRows {
	r := &radialRows{At: make([]int, n)}
	for i := range n {
		if has(i) {
			r.At[i] = len(r.rows)
			r.rows = append(r.rows, i)
		}
	}
	return r
}

// gather returns these rows of x, which has d numbers in each row.
func (r *radialRows) gather(x []float32, d int) []float32 {
	dst := make([]float32, 0, len(r.rows)*d)
	for _, i := range r.rows {
		dst = append(dst, x[i*d:(i+1)*d]...)
	}
	return dst
}

// triangle returns where row i of a packed lower triangle begins; triangle(n) is the size for n rows.
func triangle(i int) int { return i * (i + 1) / 2 }

// distances are the distances between rows.
type distances struct {
	*radialRows
	N      int       // rows
	values []float32 // lower triangle
}

// newDistances computes the distances between some rows of x, of dim numbers each.
func newDistances(x []float32, dim int, rows *radialRows, distance kernel.Distance, threads int) *distances {
	n := len(rows.rows)
	d := &distances{radialRows: rows, N: n, values: make([]float32, triangle(n))}
	points := rows.gather(x, dim)
	// Rows of a triangle, the longest first.
	parallel.Ranges(n, 8, threads, func(lo, hi int) {
		sums := make([]float64, n)
		for i := n - hi; i < n-lo; i++ {
			blas.Distances(sums[:i], points[i*dim:(i+1)*dim], points, distance == kernel.L1)
			for j, v := range sums[:i] {
				if distance == kernel.Euclidean {
					v = math.Sqrt(v)
				}
				d.values[triangle(i)+j] = float32(v)
			}
		}
	})
	return d
}

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

// kernelMatrix is a symmetric kernel matrix of some rows.
type kernelMatrix struct {
	*radialRows
	N int       // rows
	K []float64 // lower triangle
}

// newKernelMatrix computes the matrix of a kernel (see fourier.Radial) at a width, from the distances d. It
// stores it in k, which has triangle(d.N) numbers.
func newKernelMatrix(at func(t []float64), d *distances, width float64, k []float64) *kernelMatrix {
	m := &kernelMatrix{d.radialRows, d.N, k}
	inverse := 1 / width
	for i := range d.N {
		row := k[triangle(i):][:i+1]
		for j, t := range d.values[triangle(i):][:i] {
			row[j] = float64(float64(t) * inverse)
		}
		at(row[:i])
		row[i] = 1
	}
	return m
}

// productRows is the number of rows whose products are computed at the same time.
const productRows = 256

// addProducts adds the inner products of the rows of phi (N×d) to the matrix.
func (m *kernelMatrix) addProducts(phi []float32, d, threads int) {
	const block = productRows
	rows, sums := make([]float64, len(phi)), make([]float64, block*m.N)
	for i, v := range phi {
		rows[i] = float64(v)
	}
	for lo := 0; lo < m.N; lo += block {
		hi := min(lo+block, m.N)
		clear(sums)
		blas.SubProduct(sums, rows[lo*d:hi*d], rows[:hi*d], hi-lo, hi, d, threads)
		for i := lo; i < hi; i++ {
			dst := m.K[triangle(i):][:i+1]
			for j, v := range sums[(i-lo)*hi:][:i+1] {
				dst[j] -= v
			}
		}
	}
}

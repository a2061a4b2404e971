package search

import "github.com/bochner-ml/bochner/internal/blas"

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

package search

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
)

// RadialKernel replaces distances over the width by the kernel of them.
type RadialKernel func(t []float64)

// radialKernelOf returns the kernel of a recipe; nil if it is not known in closed form.
func radialKernelOf(r features.Recipe) RadialKernel {
	switch r := r.(type) {
	case fourier.Gaussian:
		return gaussianRadial
	case fourier.Laplace:
		return laplace
	case fourier.Exponential:
		return exponential(r.Exponent)
	case fourier.Matern:
		s := math.Sqrt(2 * r.Nu)
		switch r.Nu {
		case 0.5:
			return laplace
		case 1.5:
			return matern(func(t float64) float64 { return 1 + t }, s)
		case 2.5:
			return matern(func(t float64) float64 { return 1 + t + float64(t*t)/3 }, s)
		}
	}
	return nil
}

// gaussianRadial is exp(−t²/2).
func gaussianRadial(t []float64) {
	for i, v := range t {
		t[i] = -float64(v*v) / 2
	}
	blas.ExpEach(t)
}

// laplace is exp(−t).
func laplace(t []float64) {
	for i, v := range t {
		t[i] = -v
	}
	blas.ExpEach(t)
}

// exponential is exp(−t^q).
func exponential(q float64) RadialKernel {
	if q == 1 {
		return laplace
	}
	return func(t []float64) {
		for i, v := range t {
			if v > 0 {
				t[i] = float64(q * stream.Log(v))
			} else {
				t[i] = math.Inf(-1)
			}
		}
		blas.ExpEach(t)
		laplace(t)
	}
}

// matern is p(st)·exp(−st) for a polynomial p.
func matern(p func(t float64) float64, s float64) RadialKernel {
	return func(t []float64) {
		var e [64]float64
		for some := range slices.Chunk(t, len(e)) {
			for i, v := range some {
				some[i] = float64(v * s)
				e[i] = -some[i]
			}
			blas.ExpEach(e[:len(some)])
			for i, v := range some {
				some[i] = float64(p(v) * e[i])
			}
		}
	}
}

// KernelMatrix is a kernel matrix.
type KernelMatrix struct {
	*RadialRows
	N int       // rows
	K []float64 // lower triangle
}

// newKernelMatrix computes the kernel of rows at a width, in k, which has Triangle(d.N) numbers.
func newKernelMatrix(kernel RadialKernel, d *Distances, width float64, k []float64) *KernelMatrix {
	m := &KernelMatrix{d.RadialRows, d.N, k}
	inverse := 1 / width
	for i := range d.N {
		row := k[triangle(i):][:i+1]
		for j, t := range d.between[triangle(i):][:i] {
			row[j] = float64(float64(t) * inverse)
		}
		kernel(row[:i])
		row[i] = 1
	}
	return m
}

// productRows is the number of rows whose products are computed at a time.
const productRows = 256

// addProducts adds the inner products of the rows of phi, of d numbers each.
func (m *KernelMatrix) addProducts(phi []float32, d, threads int) {
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

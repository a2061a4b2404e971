package radial

import (
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/models/loss"
)

// Of returns the kernel of a recipe as a function of the distance over the width; nil if it is not
// known in closed form.
func Of(r features.Recipe) func(t float64) float64 {
	switch r := r.(type) {
	case fourier.Gaussian:
		return Gaussian
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

// Gaussian is exp(−t²/2).
func Gaussian(t float64) float64 { return loss.Exp(-float64(t*t) / 2) }

// Matrix is a kernel matrix.
type Matrix struct {
	*Rows
	N int       // rows
	K []float64 // lower triangle
}

// NewMatrix computes the kernel of rows at a width, in k, which has Triangle(d.N) numbers.
func NewMatrix(kernel func(float64) float64, d *Distances, width float64, k []float64) *Matrix {
	m := &Matrix{d.Rows, d.N, k}
	inverse := 1 / width
	for i := range d.N {
		row := k[Triangle(i):][:i+1]
		for j, t := range d.between[Triangle(i):][:i] {
			row[j] = kernel(float64(float64(t) * inverse))
		}
		row[i] = 1
	}
	return m
}

// AddProducts adds the inner products of the rows of phi, of d numbers each, most of which are 0.
func (m *Matrix) AddProducts(phi []float32, d int) {
	type number struct {
		at    int
		value float64
	}
	rows := make([][]number, m.N)
	for i := range rows {
		for j, v := range phi[i*d : (i+1)*d] {
			if v != 0 {
				rows[i] = append(rows[i], number{j, float64(v)})
			}
		}
	}
	for i := range m.N {
		dense, dst := phi[i*d:(i+1)*d], m.K[Triangle(i):][:i+1]
		for j, row := range rows[:i+1] {
			var sum float64
			for _, v := range row {
				sum += float64(v.value * float64(dense[v.at]))
			}
			dst[j] += sum
		}
	}
}

package search

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/testing/kerneltest"
)

// Kernel matrices of some rows agree with the kernels of recipes. Inner products of features are
// added to them.
func TestKernelsOfDistancesMatchTheRecipes(t *testing.T) {
	const n, d = 30, 3
	random := rand.New(rand.NewPCG(1, n))
	x := make([]float32, n*d)
	for i := range x {
		x[i] = float32(random.NormFloat64())
		if i%4 == 0 {
			x[i] = 0
		}
	}
	some := newRadialRows(n, func(row int) bool { return row%3 > 0 })
	for _, r := range []features.Recipe{
		fourier.Gaussian{In: d, Out: 2, Width: 1.3}, fourier.Laplace{In: d, Out: 2, Width: 1.3},
		fourier.Matern{In: d, Out: 2, Width: 1.3, Nu: 0.5}, fourier.Matern{In: d, Out: 2, Width: 1.3,
			Nu: 1.5}, fourier.Matern{In: d, Out: 2, Width: 1.3, Nu: 2.5},
		fourier.Exponential{In: d, Out: 2, Width: 1.3, Exponent: 1}, fourier.Exponential{In: d, Out: 2, Width: 1.3,
			Exponent: 1.4},
	} {
		of := r.(kernel.OfDistance).Distance()
		m := newKernelMatrix(fourier.RadialOf(r).At, newDistances(x, d, some, of, 2), 1.3, make([]float64, triangle(2*n/3)))
		m.addProducts(some.gather(x, d), d, 2)
		for i := range n {
			for j := range i + 1 {
				if i%3 == 0 || j%3 == 0 {
					continue
				}
				a, b := x[i*d:][:d], x[j*d:][:d]
				want := kerneltest.Kernel(r)(a, b)
				for k, v := range a {
					want += float64(v) * float64(b[k])
				}
				if got := m.K[triangle(m.At[i])+m.At[j]]; math.Abs(got-want) > 1e-6 {
					t.Fatalf("%T: kernel of rows %d and %d is %v, want %v", r, i, j, got, want)
				}
			}
		}
	}
	if fourier.RadialOf(fourier.Matern{Nu: 2}) != nil || fourier.RadialOf(fourier.Cauchy{}) != nil {
		t.Error("a kernel without a closed form has one")
	}
}

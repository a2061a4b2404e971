package shapley

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/landmarks"
	"github.com/bochner-ml/bochner/internal/blas"
)

// kernelValues are values at landmarks z of a Gaussian kernel, whose factors are exp(−‖y_g −
// z_g‖²/2σ²), or of a Laplace kernel, whose factors are exp(−‖y_g − z_g‖₁/σ).
type kernelValues struct {
	in, count int
	landmarks []float64 // column by column, divided by σ: in×count
	gaussian  bool
	width     float64 // σ
}

// newKernelValues returns the kernel values of a recipe. The error is ErrMixed if the kernel is not a product
// over columns.
func newKernelValues(r landmarks.Recipe) (*kernelValues, error) {
	k := &kernelValues{}
	switch recipe := r.Of.(type) {
	case fourier.Gaussian:
		k.gaussian, k.width = true, recipe.Width
	case fourier.Laplace:
		k.width = recipe.Width
	default:
		return nil, fmt.Errorf("%w: %T at landmarks", ErrMixed, recipe)
	}
	x, err := r.Landmarks()
	if err != nil {
		return nil, err
	}
	k.in, k.count = r.Dims()
	k.landmarks = make([]float64, k.in*k.count)
	for j := range k.count {
		for i, z := range x[j*k.in : (j+1)*k.in] {
			k.landmarks[i*k.count+j] = float64(z) / k.width
		}
	}
	return k, nil
}

func (k *kernelValues) size() (in, count int) { return k.in, k.count }

// factors stores in dst, stride apart, the factor of a column in the kernel of y with each landmark: exp(−d²/2) or
// exp(−|d|) of the differences of its numbers.
func (k *kernelValues) factors(dst []phasor, stride int, y []float32, numbers []int, at []float64) {
	clear(at)
	for _, i := range numbers {
		v := float64(y[i]) / k.width
		for j, z := range k.landmarks[i*k.count : (i+1)*k.count] {
			if d := v - z; k.gaussian {
				at[j] -= float64(d*d) / 2
			} else {
				at[j] -= math.Abs(d)
			}
		}
	}
	blas.ExpEach(at)
	for j, v := range at {
		dst[j*stride] = phasor{v, 0}
	}
}

func (k *kernelValues) coefficient(weights []float32, j int) phasor {
	return phasor{float64(weights[j]), 0}
}

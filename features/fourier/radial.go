package fourier

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
)

// Radial is a kernel that is a function of the distance between two rows.
type Radial struct {
	Distance kernel.Distance
	Width    float64 // of the kernel, in the units of the rows
	// At replaces each number of t, a distance divided by Width, by the kernel, a number from 0 to 1.
	At func(t []float64)
}

// RadialOf returns the kernel of a recipe; nil if it is not a function of the distance in closed form.
// Matérn kernels have one for ν = ½, 1½ and 2½.
func RadialOf(r features.Recipe) *Radial {
	switch r := r.(type) {
	case Gaussian:
		return &Radial{r.Distance(), r.Width, GaussianAt}
	case Laplace:
		return &Radial{r.Distance(), r.Width, laplaceAt}
	case Exponential:
		return &Radial{r.Distance(), r.Width, exponentialAt(r.Exponent)}
	case Matern:
		s := math.Sqrt(2 * r.Nu)
		at := map[float64]func([]float64){
			0.5: laplaceAt,
			1.5: maternAt(func(t float64) float64 { return 1 + t }, s),
			2.5: maternAt(func(t float64) float64 { return 1 + t + float64(t*t)/3 }, s),
		}[r.Nu]
		if at != nil {
			return &Radial{r.Distance(), r.Width, at}
		}
	}
	return nil
}

// GaussianAt replaces each t by exp(−t²/2).
func GaussianAt(t []float64) {
	for i, v := range t {
		t[i] = -float64(v*v) / 2
	}
	blas.ExpEach(t)
}

// laplaceAt is exp(−t).
func laplaceAt(t []float64) {
	for i, v := range t {
		t[i] = -v
	}
	blas.ExpEach(t)
}

// exponentialAt is exp(−t^q).
func exponentialAt(q float64) func([]float64) {
	if q == 1 {
		return laplaceAt
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
		laplaceAt(t)
	}
}

// maternAt is p(st)·exp(−st) for a polynomial p, and 0 for an infinite t.
func maternAt(p func(t float64) float64, s float64) func([]float64) {
	return func(t []float64) {
		var e [64]float64
		for chunk := range slices.Chunk(t, len(e)) {
			for i, v := range chunk {
				chunk[i] = float64(v * s)
				e[i] = -chunk[i]
			}
			blas.ExpEach(e[:len(chunk)])
			for i, v := range chunk {
				chunk[i] = 0
				if e[i] != 0 {
					chunk[i] = float64(p(v) * e[i])
				}
			}
		}
	}
}

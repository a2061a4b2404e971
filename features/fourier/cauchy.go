package fourier

import (
	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/bandwidth"
	"github.com/bochner-ml/bochner/features/stream"
)

// Cauchy is the recipe of random Fourier features for the product kernel
//
//	K(x, z) = Π_i 1/(1 + (x_i−z_i)²/σ²),   σ = Width        (Rahimi & Recht 2007)
//
// Coordinates of frequencies are drawn from the Laplace distribution of scale 1/σ,
// whose density is (σ/2)·exp(−σ|ω|).
type Cauchy struct {
	In    int     `json:"in"`    // row length d
	Out   int     `json:"out"`   // number of features D; even in the paired form
	Width float64 `json:"width"` // σ > 0, in the units of the rows
	Form  Form    `json:"form"`
	Seed  uint64  `json:"seed"`
}

func init() { features.Register("fourier.cauchy", features.Decode[Cauchy]) }

func (r Cauchy) draw() draw {
	return draw{name: "Cauchy", in: r.In, out: r.Out, width: r.Width, form: r.Form, seed: r.Seed, number: (*stream.Stream).Laplace}
}

// New draws the map.
func (r Cauchy) New() (features.Map, error) {
	d := r.draw()
	return d.build()
}

// Validate returns an error that names the field that is wrong.
func (r Cauchy) Validate() error {
	d := r.draw()
	return d.validate()
}

// Dims returns the row length and the number of features.
func (r Cauchy) Dims() (in, out int) { return r.In, r.Out }

// Kernel returns Π_i 1/(1 + (x_i−z_i)²/σ²).
func (r Cauchy) Kernel(x, z []float32) float64 {
	checkLengths(x, z)
	product := 1.0 // grows to +Inf at worst, and the kernel is 0
	for i, v := range x {
		d := (float64(v) - float64(z[i])) / r.Width
		product *= 1 + d*d
	}
	return 1 / product
}

// SecondMoment returns E‖ω‖² = 2d/σ².
func (r Cauchy) SecondMoment() float64 { return 2 * float64(r.In) / (r.Width * r.Width) }

// Distance tells in which distance widths of this kernel are measured: where
// the kernel is not small it is close to exp(−‖x−z‖₂²/σ²).
func (Cauchy) Distance() bandwidth.Distance { return bandwidth.Euclidean }

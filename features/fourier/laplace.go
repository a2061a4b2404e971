package fourier

import (
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/bandwidth"
	"github.com/bochner-ml/bochner/features/stream"
)

// Laplace is the recipe of random Fourier features for
//
//	K(x, z) = exp(−‖x−z‖₁/σ),   σ = Width        (Rahimi & Recht 2007)
//
// Coordinates of frequencies are drawn from the Cauchy distribution of scale 1/σ,
// whose density is σ/(π(1+σ²ω²)).
type Laplace struct {
	In    int     `json:"in"`    // row length d
	Out   int     `json:"out"`   // number of features D; even in the paired form
	Width float64 `json:"width"` // σ > 0, in the units of the rows
	Form  Form    `json:"form"`
	Seed  uint64  `json:"seed"`
}

func init() { features.Register("fourier.laplace", features.Decode[Laplace]) }

func (r Laplace) draw() draw {
	return draw{name: "Laplace", in: r.In, out: r.Out, width: r.Width, form: r.Form, seed: r.Seed, number: (*stream.Stream).Cauchy}
}

// New draws the map.
func (r Laplace) New() (features.Map, error) {
	d := r.draw()
	return d.build()
}

// Validate returns an error that names the field that is wrong.
func (r Laplace) Validate() error {
	d := r.draw()
	return d.validate()
}

// Dims returns the row length and the number of features.
func (r Laplace) Dims() (in, out int) { return r.In, r.Out }

// Kernel returns exp(−‖x−z‖₁/σ).
func (r Laplace) Kernel(x, z []float32) float64 {
	checkLengths(x, z)
	var sum float64
	for i, v := range x {
		sum += math.Abs(float64(v) - float64(z[i]))
	}
	return math.Exp(-sum / r.Width)
}

// SecondMoment returns E‖ω‖² = +Inf.
func (Laplace) SecondMoment() float64 { return math.Inf(1) }

// Distance tells in which distance widths of this kernel are measured.
func (Laplace) Distance() bandwidth.Distance { return bandwidth.L1 }

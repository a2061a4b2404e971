package fourier

import (
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/bandwidth"
	"github.com/bochner-ml/bochner/features/stream"
)

// Gaussian is the recipe of random Fourier features for
//
//	K(x, z) = exp(−‖x−z‖²/2σ²),   σ = Width        (Rahimi & Recht 2007)
//
// Frequencies are drawn from N(0, σ⁻²I), independently or not: see Draw.
type Gaussian struct {
	In    int     `json:"in"`    // row length d
	Out   int     `json:"out"`   // number of features D; even in the paired form
	Width float64 `json:"width"` // σ > 0, in the units of the rows
	Form  Form    `json:"form"`
	Draw  Draw    `json:"draw,omitempty"` // how frequencies depend on each other
	Seed  uint64  `json:"seed"`
}

func init() { features.Register("fourier.gaussian", features.Decode[Gaussian]) }

func (r Gaussian) draw() draw {
	return draw{name: "Gaussian", in: r.In, out: r.Out, width: r.Width, form: r.Form, scheme: r.Draw, seed: r.Seed,
		number: (*stream.Stream).Normal}
}

// New draws the map.
func (r Gaussian) New() (features.Map, error) {
	d := r.draw()
	return d.build()
}

// Validate returns an error that names the field that is wrong.
func (r Gaussian) Validate() error {
	d := r.draw()
	return d.validate()
}

// Dims returns the row length and the number of features.
func (r Gaussian) Dims() (in, out int) { return r.In, r.Out }

// Kernel returns exp(−‖x−z‖²/2σ²).
func (r Gaussian) Kernel(x, z []float32) float64 {
	return math.Exp(-squaredDistance(x, z) / (2 * r.Width * r.Width))
}

// SecondMoment returns E‖ω‖² = d/σ².
func (r Gaussian) SecondMoment() float64 { return float64(r.In) / (r.Width * r.Width) }

// Distance tells in which distance widths of this kernel are measured.
func (Gaussian) Distance() bandwidth.Distance { return bandwidth.Euclidean }

// squaredDistance returns ‖x−z‖₂². It panics if the lengths differ.
func squaredDistance(x, z []float32) float64 {
	checkLengths(x, z)
	var sum float64
	for i, v := range x {
		d := float64(v) - float64(z[i])
		sum += d * d
	}
	return sum
}

func checkLengths(x, z []float32) {
	if len(x) != len(z) {
		panic("fourier: Kernel of rows of different lengths")
	}
}

package fourier

import (
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
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

// LaplaceOptions are the options of the Laplace kernel. The zero value is the default: the median width and
// kernel.DefaultFeatures features in the paired form.
type LaplaceOptions struct {
	Width    kernel.Width `flag:"width,common" placeholder:"NUMBER"`
	Gamma    float64      `flag:"gamma" help:"Alternative to --width: γ in exp(-γ‖x-z‖²) (gaussian) or exp(-γ‖x-z‖₁) (laplace)."`
	Features int          `flag:"features,common" help:"Number of random features. More features are more accurate and slower."`
	Form     Form         `flag:"form"`
}

func init() {
	features.Register("fourier.laplace", features.Decode[Laplace])
	kernel.Register(kernel.Family{
		Name: "laplace", Aliases: []string{"laplacian"}, Summary: "exp(-‖x-z‖₁/σ)",
		New: func() kernel.Options { return &LaplaceOptions{Features: kernel.DefaultFeatures} },
	})
}

func (r Laplace) draw() draw {
	return draw{name: "Laplace", in: r.In, out: r.Out, width: r.Width, form: r.Form, seed: r.Seed,
		number: (*stream.Stream).Cauchy}
}

// New draws the map.
func (r Laplace) New() (features.Map, error) {
	d := r.draw()
	return d.build()
}

// NewShort implements features.ShortFormRecipe.
func (r Laplace) NewShort(form *features.ShortForm) (features.Map, error) {
	d := r.draw()
	return d.newShort(form)
}

// Validate implements features.Recipe.
func (r Laplace) Validate() error {
	d := r.draw()
	return d.validate()
}

// Dims implements features.Recipe.
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

// Drawn returns the form of the features and how their frequencies are drawn.
func (r Laplace) Drawn() (Form, Draw) { return r.Form, Iid }

// Distance returns the distance that this kernel's width refers to.
func (Laplace) Distance() kernel.Distance { return kernel.L1 }

func (o *LaplaceOptions) choice() choice {
	return choice{
		name: "laplace", distance: Laplace{}.Distance(), width: o.Width, gamma: o.Gamma, features: o.Features, form: o.Form,
		recipe: func(in, out int, width float64, seed uint64) features.Recipe {
			return Laplace{In: in, Out: out, Width: width, Form: o.Form, Seed: seed}
		},
	}
}

// Validate implements kernel.Options.
func (o *LaplaceOptions) Validate() error { return o.choice().validate() }

// Size returns the size of the features.
func (o *LaplaceOptions) Size(in int) kernel.Size { return o.choice().size(in) }

// Choose makes the recipe. It derives the width from the data unless one is given.
func (o *LaplaceOptions) Choose(d *kernel.Data) (*kernel.Choice, error) { return o.choice().choose(d) }

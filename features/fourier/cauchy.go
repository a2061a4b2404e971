package fourier

import (
	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
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

// CauchyOptions are the options of the Cauchy kernel. The zero value is the default: the median width and
// kernel.DefaultFeatures features in the paired form.
type CauchyOptions struct {
	Width    kernel.Width `flag:"width,common" placeholder:"NUMBER"`
	Features int          `flag:"features,common" help:"Number of random features. More features are more accurate and slower."`
	Form     Form         `flag:"form"`
}

func init() {
	features.Register("fourier.cauchy", features.Decode[Cauchy])
	kernel.Register(kernel.Family{
		Name: "cauchy", Summary: "product over the columns of 1/(1+(x-z)²/σ²)",
		New: func() kernel.Options { return &CauchyOptions{Features: kernel.DefaultFeatures} },
	})
}

func (r Cauchy) draw() draw {
	return draw{name: "Cauchy", in: r.In, out: r.Out, width: r.Width, form: r.Form, seed: r.Seed,
		number: (*stream.Stream).Laplace}
}

// New draws the map.
func (r Cauchy) New() (features.Map, error) {
	d := r.draw()
	return d.build()
}

// NewShort implements features.ShortFormRecipe.
func (r Cauchy) NewShort(form *features.ShortForm) (features.Map, error) {
	d := r.draw()
	return d.newShort(form)
}

// Validate implements features.Recipe.
func (r Cauchy) Validate() error {
	d := r.draw()
	return d.validate()
}

// Dims implements features.Recipe.
func (r Cauchy) Dims() (in, out int) { return r.In, r.Out }

// Kernel returns Π_i 1/(1 + (x_i−z_i)²/σ²).
func (r Cauchy) Kernel(x, z []float32) float64 {
	checkLengths(x, z)
	product := 1.0 // at worst it becomes +Inf, and the kernel 0
	for i, v := range x {
		d := (float64(v) - float64(z[i])) / r.Width
		product *= 1 + d*d
	}
	return 1 / product
}

// SecondMoment returns E‖ω‖² = 2d/σ².
func (r Cauchy) SecondMoment() float64 { return 2 * float64(r.In) / (r.Width * r.Width) }

// Drawn returns the form of the features and how their frequencies are drawn.
func (r Cauchy) Drawn() (Form, Draw) { return r.Form, Iid }

// Distance returns the distance that this kernel's width refers to: where the
// kernel is not small it is close to exp(−‖x−z‖₂²/σ²).
func (Cauchy) Distance() kernel.Distance { return kernel.Euclidean }

func (o *CauchyOptions) choice() choice {
	return choice{
		name: "cauchy", distance: Cauchy{}.Distance(), width: o.Width, features: o.Features, form: o.Form,
		recipe: func(in, out int, width float64, seed uint64) features.Recipe {
			return Cauchy{In: in, Out: out, Width: width, Form: o.Form, Seed: seed}
		},
	}
}

// Validate implements kernel.Options.
func (o *CauchyOptions) Validate() error { return o.choice().validate() }

// Size returns the size of the features.
func (o *CauchyOptions) Size(in int) kernel.Size { return o.choice().size(in) }

// Choose makes the recipe. It derives the width from the data unless one is given.
func (o *CauchyOptions) Choose(d *kernel.Data) (*kernel.Choice, error) { return o.choice().choose(d) }

package fourier

import (
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/stream"
)

// Gaussian is the recipe of random Fourier features for
//
//	K(x, z) = exp(−‖x−z‖²/2σ²),   σ = Width        (Rahimi & Recht 2007)
//
// Frequencies are drawn from N(0, σ⁻²I); see Draw for how they depend on each other.
type Gaussian struct {
	In    int     `json:"in"`    // row length d
	Out   int     `json:"out"`   // number of features D; even in the paired form
	Width float64 `json:"width"` // σ > 0, in the units of the rows
	Form  Form    `json:"form"`
	Draw  Draw    `json:"draw,omitempty"` // how frequencies are drawn
	Seed  uint64  `json:"seed"`
}

// GaussianOptions are the options of the Gaussian kernel. The zero value is the default: the median width and
// kernel.DefaultFeatures features in the paired form.
type GaussianOptions struct {
	Width    kernel.Width `flag:"width,common" placeholder:"NUMBER"`
	Gamma    float64      `flag:"gamma" help:"Alternative to --width: γ in exp(-γ‖x-z‖²) (gaussian) or exp(-γ‖x-z‖₁) (laplace)."`
	Features int          `flag:"features,common" help:"Number of random features. More features are more accurate and slower."`
	Draw     Draw         `flag:"draw" help:"How frequencies of the gaussian kernel are drawn: iid, orthogonal (smaller error), structured (faster for long rows)." values:"iid,orthogonal,structured"`
	Form     Form         `flag:"form"`
}

func init() {
	features.Register("fourier.gaussian", features.Decode[Gaussian])
	kernel.Register(kernel.Family{
		Name: "gaussian", Aliases: []string{"rbf"}, Summary: "exp(-‖x-z‖²/2σ²)",
		New: func() kernel.Options { return &GaussianOptions{Features: kernel.DefaultFeatures} },
	})
}

func (r Gaussian) draw() draw {
	return draw{name: "Gaussian", in: r.In, out: r.Out, width: r.Width, form: r.Form, scheme: r.Draw, seed: r.Seed,
		number: (*stream.Stream).Normal}
}

// New draws the map.
func (r Gaussian) New() (features.Map, error) {
	d := r.draw()
	return d.build()
}

// NewShort implements features.ShortFormRecipe. A structured draw has no map for the short form.
func (r Gaussian) NewShort(form *features.ShortForm) (features.Map, error) {
	d := r.draw()
	return d.newShort(form)
}

// Validate implements features.Recipe.
func (r Gaussian) Validate() error {
	d := r.draw()
	return d.validate()
}

// Dims implements features.Recipe.
func (r Gaussian) Dims() (in, out int) { return r.In, r.Out }

// Kernel returns exp(−‖x−z‖²/2σ²).
func (r Gaussian) Kernel(x, z []float32) float64 {
	return math.Exp(-squaredDistance(x, z) / (2 * r.Width * r.Width))
}

// SecondMoment returns E‖ω‖² = d/σ².
func (r Gaussian) SecondMoment() float64 { return float64(r.In) / (r.Width * r.Width) }

// Drawn returns the form of the features and how their frequencies are drawn.
func (r Gaussian) Drawn() (Form, Draw) { return r.Form, r.Draw }

// Distance returns the distance that this kernel's width refers to.
func (Gaussian) Distance() kernel.Distance { return kernel.Euclidean }

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

func (o *GaussianOptions) choice() choice {
	return choice{
		name: "gaussian", distance: Gaussian{}.Distance(), width: o.Width, gamma: o.Gamma, features: o.Features,
		form: o.Form, draw: o.Draw,
		recipe: func(in, out int, width float64, seed uint64) features.Recipe {
			return Gaussian{In: in, Out: out, Width: width, Form: o.Form, Draw: o.Draw, Seed: seed}
		},
	}
}

// Validate implements kernel.Options.
func (o *GaussianOptions) Validate() error { return o.choice().validate() }

// Size returns the size of the features.
func (o *GaussianOptions) Size(in int) kernel.Size { return o.choice().size(in) }

// Choose makes the recipe. It derives the width from the data unless one is given.
func (o *GaussianOptions) Choose(d *kernel.Data) (*kernel.Choice, error) {
	return o.choice().choose(d)
}

// Variants returns the options for each draw.
func (o *GaussianOptions) Variants() []kernel.Variant {
	var list []kernel.Variant
	for i, name := range drawNames {
		v := *o
		v.Draw = Draw(i)
		list = append(list, kernel.Variant{Name: name, Options: &v})
	}
	return list
}

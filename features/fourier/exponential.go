package fourier

import (
	"cmp"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
)

// Exponential is the recipe of random Fourier features for
//
//	K(x, z) = exp(−(‖x−z‖₂/σ)^q),   σ = Width, q = Exponent
//
// It is the mean of the Gaussians exp(−S·‖x−z‖₂²/σ²) over positive stable numbers S of index q/2,
// whose Laplace transform is exp(−t^(q/2)). So frequencies are √(2S)/σ times normal ones. At q = 1
// it is the Matérn kernel with ν = ½, at q = 2 it would be a Gaussian.
type Exponential struct {
	In       int     `json:"in"`       // row length d
	Out      int     `json:"out"`      // number of features D; even in the paired form
	Width    float64 `json:"width"`    // σ > 0, in the units of the rows
	Exponent float64 `json:"exponent"` // q, ½ to below 2
	Form     Form    `json:"form"`
	Seed     uint64  `json:"seed"`
}

// leastExponent is the least exponent whose frequencies fit in float32.
const leastExponent = 0.5

// ExponentialOptions are the options of the exponential kernel. The zero value is the default: the median width and
// kernel.DefaultFeatures features in the paired form, with exponent 1.
type ExponentialOptions struct {
	Width    kernel.Width `flag:"width,common" placeholder:"NUMBER"`
	Exponent float64      `flag:"exponent" help:"Exponent q of the exponential kernel, 0.5 to below 2."`
	Features int          `flag:"features,common" help:"Number of random features. More features are more accurate and slower."`
	Form     Form         `flag:"form"`
}

func init() {
	features.Register("fourier.exponential", features.Decode[Exponential])
	kernel.Register(kernel.Family{
		Name: "exponential", Summary: "exp(-(‖x-z‖/σ)^q) for an exponent q",
		New: func() kernel.Options { return &ExponentialOptions{Exponent: 1, Features: kernel.DefaultFeatures} },
	})
}

func (r Exponential) draw() draw {
	return draw{name: "Exponential", in: r.In, out: r.Out, width: r.Width, form: r.Form, seed: r.Seed,
		number: (*stream.Stream).Normal, factor: func(s *stream.Stream) float64 {
			return blas.Exp((math.Ln2 + s.LogStable(r.Exponent/2)) / 2)
		}}
}

// New draws the map.
func (r Exponential) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	d := r.draw()
	return d.build()
}

// NewShort implements features.ShortFormRecipe.
func (r Exponential) NewShort(form *features.ShortForm) (features.Map, error) {
	d := r.draw()
	return d.newShort(form)
}

// Validate implements features.Recipe.
func (r Exponential) Validate() error {
	if !(r.Exponent >= leastExponent && r.Exponent < 2) {
		return fmt.Errorf("fourier: Exponential: exponent must be %v to below 2 (have %v); at 2 use the Gaussian",
			leastExponent, r.Exponent)
	}
	d := r.draw()
	return d.validate()
}

// Dims implements features.Recipe.
func (r Exponential) Dims() (in, out int) { return r.In, r.Out }

// Kernel returns exp(−(‖x−z‖₂/σ)^q).
func (r Exponential) Kernel(x, z []float32) float64 {
	return math.Exp(-math.Pow(math.Sqrt(squaredDistance(x, z))/r.Width, r.Exponent))
}

// SecondMoment returns E‖ω‖² = +Inf.
func (Exponential) SecondMoment() float64 { return math.Inf(1) }

// Drawn returns the form of the features and how their frequencies are drawn.
func (r Exponential) Drawn() (Form, Draw) { return r.Form, Iid }

// Distance returns the distance that this kernel's width refers to.
func (Exponential) Distance() kernel.Distance { return kernel.Euclidean }

func (o *ExponentialOptions) choice() choice {
	q := cmp.Or(o.Exponent, 1)
	return choice{
		name: "exponential", distance: Exponential{}.Distance(), width: o.Width, features: o.Features, form: o.Form,
		shape: fmt.Sprintf(", exponent %g", q),
		recipe: func(in, out int, width float64, seed uint64) features.Recipe {
			return Exponential{In: in, Out: out, Width: width, Exponent: q, Form: o.Form, Seed: seed}
		},
	}
}

// Validate implements kernel.Options.
func (o *ExponentialOptions) Validate() error { return o.choice().validate() }

// Size returns the size of the features.
func (o *ExponentialOptions) Size(in int) kernel.Size { return o.choice().size(in) }

// Choose makes the recipe. It derives the width from the data unless one is given.
func (o *ExponentialOptions) Choose(d *kernel.Data) (*kernel.Choice, error) {
	return o.choice().choose(d)
}

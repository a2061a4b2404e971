package fourier

import (
	"cmp"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/stream"
)

// Matern is the recipe of random Fourier features for the Matérn kernel of
// smoothness ν = Nu and σ = Width,
//
//	K(x, z) = 2^(1−ν)/Γ(ν) · t^ν K_ν(t),   t = √(2ν)·‖x−z‖₂/σ
//
// with K_ν the modified Bessel function of the second kind (Rasmussen & Williams,
// Gaussian Processes for Machine Learning, eq. 4.14): exp(−‖x−z‖/σ) at ν = ½,
// (1+t)·e^(−t) at 3/2, (1+t+t²/3)·e^(−t) at 5/2. It tends to the Gaussian as ν grows.
// Frequencies have the multivariate t distribution of 2ν degrees of freedom and scale 1/σ.
type Matern struct {
	In    int     `json:"in"`    // row length d
	Out   int     `json:"out"`   // number of features D; even in the paired form
	Width float64 `json:"width"` // σ > 0, in the units of the rows
	Nu    float64 `json:"nu"`    // ν, ½ to 100
	Form  Form    `json:"form"`
	Seed  uint64  `json:"seed"`
}

// defaultNu is the ν whose Matérn samples are once differentiable.
const defaultNu = 1.5

// maxNu is the ν whose Matérn kernel is within 0.0025 of the Gaussian.
const maxNu = 100

// MaternOptions are the options of the Matérn kernel. The zero value is the default: the median width and
// kernel.DefaultFeatures features in the paired form, with smoothness 1.5.
type MaternOptions struct {
	Width    kernel.Width `flag:"width,common" placeholder:"NUMBER"`
	Nu       float64      `flag:"nu" help:"Smoothness ν of the Matérn kernel."`
	Features int          `flag:"features,common" help:"Number of random features. More features are more accurate and slower."`
	Form     Form         `flag:"form"`
}

func init() {
	features.Register("fourier.matern", features.Decode[Matern])
	kernel.Register(kernel.Family{
		Name: "matern", Aliases: []string{"matérn"}, Summary: "Matérn kernel of smoothness ν",
		New: func() kernel.Options { return &MaternOptions{Nu: defaultNu, Features: kernel.DefaultFeatures} },
	})
}

func (r Matern) draw() draw {
	return draw{name: "Matern", in: r.In, out: r.Out, width: r.Width, form: r.Form, seed: r.Seed,
		number: (*stream.Stream).Normal, factor: func(s *stream.Stream) float64 { return math.Sqrt(r.Nu / s.Gamma(r.Nu)) }}
}

// New draws the map.
func (r Matern) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	d := r.draw()
	return d.build()
}

// NewShort implements features.ShortFormRecipe.
func (r Matern) NewShort(form *features.ShortForm) (features.Map, error) {
	d := r.draw()
	return d.newShort(form)
}

// Validate implements features.Recipe.
func (r Matern) Validate() error {
	if !(r.Nu >= 0.5 && r.Nu <= maxNu) {
		return fmt.Errorf("fourier: Matern: nu must be 0.5 to %d (have %v); for a smoother kernel use the Gaussian",
			maxNu, r.Nu)
	}
	d := r.draw()
	return d.validate()
}

// Dims implements features.Recipe.
func (r Matern) Dims() (in, out int) { return r.In, r.Out }

// Kernel returns the Matérn kernel, to about 12 digits.
func (r Matern) Kernel(x, z []float32) float64 {
	return matern(r.Nu, math.Sqrt(2*r.Nu*squaredDistance(x, z))/r.Width)
}

// SecondMoment returns E‖ω‖² = d/σ² · ν/(ν−1), +Inf for ν ≤ 1.
func (r Matern) SecondMoment() float64 {
	if r.Nu <= 1 {
		return math.Inf(1)
	}
	return float64(r.In) / (r.Width * r.Width) * r.Nu / (r.Nu - 1)
}

// Drawn returns the form of the features and how their frequencies are drawn.
func (r Matern) Drawn() (Form, Draw) { return r.Form, Iid }

// Distance returns the distance that this kernel's width refers to.
func (Matern) Distance() kernel.Distance { return kernel.Euclidean }

// matern returns 2^(1−ν)/Γ(ν) t^ν K_ν(t) for t ≥ 0.
func matern(nu, t float64) float64 {
	switch nu {
	case 0.5:
		return math.Exp(-t)
	case 1.5:
		return (1 + t) * math.Exp(-t)
	case 2.5:
		return (1 + t + t*t/3) * math.Exp(-t)
	}
	return maternIntegral(nu, t)
}

// maternIntegral computes matern by K_ν(t) = ½ ∫ exp(νu − t·cosh u) du over the real
// line (Watson, Theory of Bessel Functions, 6.22). The integrand is analytic and
// has a single peak, where sinh u = ν/t and whose width is (t²+ν²)^(−1/4), so
// the trapezoidal rule with steps well below that width is exact to rounding
// (Trefethen & Weideman, SIAM Review 56, 2014).
func maternIntegral(nu, t float64) float64 {
	if t < 1e-17 { // 1 − K is at most about t
		return 1
	}
	exponent := func(u float64) float64 { return nu*u - t*math.Cosh(u) }
	peak := math.Asinh(nu / t)
	top := exponent(peak)
	h := min(0.125, 0.5/math.Sqrt(math.Hypot(t, nu)))
	sum := 1.0
	for _, dir := range []float64{-h, h} {
		for k := 1; ; k++ {
			e := exponent(peak+float64(k)*dir) - top
			if !(e > -40) {
				break
			}
			sum += math.Exp(e)
		}
	}
	lg, _ := math.Lgamma(nu)
	return math.Exp(top + math.Log(sum*h) + nu*math.Log(t/2) - lg)
}

func (o *MaternOptions) choice() choice {
	nu := cmp.Or(o.Nu, defaultNu)
	return choice{
		name: "matern", distance: Matern{}.Distance(), width: o.Width, features: o.Features, form: o.Form,
		shape: fmt.Sprintf(", nu %g", nu),
		recipe: func(in, out int, width float64, seed uint64) features.Recipe {
			return Matern{In: in, Out: out, Width: width, Nu: nu, Form: o.Form, Seed: seed}
		},
	}
}

// Validate implements kernel.Options.
func (o *MaternOptions) Validate() error { return o.choice().validate() }

// Size returns the size of the features.
func (o *MaternOptions) Size(in int) kernel.Size { return o.choice().size(in) }

// Choose makes the recipe. It derives the width from the data unless one is given.
func (o *MaternOptions) Choose(d *kernel.Data) (*kernel.Choice, error) { return o.choice().choose(d) }

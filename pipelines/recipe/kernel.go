package recipe

import (
	"math"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/bandwidth"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/linear"
	"github.com/bochner-ml/bochner/features/maxout"
	"github.com/bochner-ml/bochner/features/skeleton"
	"github.com/bochner-ml/bochner/internal/spell"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// KernelOptions says which kernel the features approximate, and how.
type KernelOptions struct {
	Name     string  // one of Kernels; "" is gaussian
	Width    string  // median (default), scale, or a number > 0 in units of the scaled rows
	Gamma    float64 // instead of Width: γ as scikit-learn has it; 0 for none
	Nu       float64 // of matern: smoothness ν > 0; 0 is 1.5
	Form     string  // of Fourier features: paired (default) or offset
	Draw     string  // of gaussian: iid (default), orthogonal, structured
	Features int     // D; 0 is 4096
	Q        int     // of maxout: projections of a unit; 0 is 4
	Pool     int     // of maxout: projections that units share; 0 for projections of their own
	Skeleton []byte  // of skeleton: a computation skeleton, as skeleton.Parse takes it
	Hybrid   bool    // of skeleton: the hybrid baseline instead of Algorithm 1

	// Frequencies is the directory that Align has made, of learned and harmonic; where "" is
	// allowed they are learned.
	Frequencies string
}

// DefaultFeatures is the number of features where none is given.
const DefaultFeatures = 4096

// Mapping is a map of a family, with all that its recipe needs to know.
type Mapping struct {
	KernelOptions
	In    int
	width float64 // of the kernel; 1 for a family without
	bound float64 // of the features, found on the sample; 1 until it is found
	// low and high are the ranges of the scaled columns.
	low, high []float32
	Form      fourier.Form
	Draw      fourier.Draw
	Seed      uint64

	Skeleton *skeleton.Skeleton // of the kernel skeleton
}

// family is what the command knows of a kernel.
type family struct {
	Recipe func(m Mapping) features.Recipe
	// widths tells that the kernel has a width; distance is that in which the
	// median is taken, and whose γ is --gamma if gamma is set.
	widths   bool
	distance bandwidth.Distance
	gamma    bool
	forms    bool // it has the forms of Fourier features
	draws    bool // it has other draws than iid
	// bounded tells that features have no bound of their own; one is found on the
	// sample.
	Bounded bool
	// most is the largest that features before the factor 1/√D can be on a row of length
	// 1, of a family with bounded.
	most   func(m Mapping) float64
	Ranged bool // features have a range each, which are found in the profile
	Fixed  bool // the number of features is that of the row
	// variants are the ways to draw features that can be compared; none is one way.
	Variants []Variant
}

// Variant is a way to draw the features of a kernel.
type Variant struct {
	Name   string
	Choose func(*Mapping)
}

var gaussianDraws = []Variant{
	{"iid", func(m *Mapping) { m.Draw = fourier.Iid }},
	{"orthogonal", func(m *Mapping) { m.Draw = fourier.Orthogonal }},
	{"structured", func(m *Mapping) { m.Draw = fourier.Structured }},
}

var skeletonSamplers = []Variant{
	{"algorithm 1", func(m *Mapping) { m.Hybrid = false }},
	{"hybrid baseline", func(m *Mapping) { m.Hybrid = true }},
}

var Families = map[string]family{
	"gaussian": {widths: true, gamma: true, forms: true, draws: true, Variants: gaussianDraws, Recipe: func(m Mapping) features.Recipe {
		return fourier.Gaussian{In: m.In, Out: m.Features, Width: m.width, Form: m.Form, Draw: m.Draw, Seed: m.Seed}
	}},
	"laplace": {widths: true, gamma: true, forms: true, distance: bandwidth.L1, Recipe: func(m Mapping) features.Recipe {
		return fourier.Laplace{In: m.In, Out: m.Features, Width: m.width, Form: m.Form, Seed: m.Seed}
	}},
	"cauchy": {widths: true, forms: true, Recipe: func(m Mapping) features.Recipe {
		return fourier.Cauchy{In: m.In, Out: m.Features, Width: m.width, Form: m.Form, Seed: m.Seed}
	}},
	"matern": {widths: true, forms: true, Recipe: func(m Mapping) features.Recipe {
		return fourier.Matern{In: m.In, Out: m.Features, Width: m.width, Nu: m.Nu, Form: m.Form, Seed: m.Seed}
	}},
	"maxout": {Bounded: true, most: longestProjection, Recipe: func(m Mapping) features.Recipe {
		return maxout.Maxout{In: m.In, Out: m.Features, Q: m.Q, Pool: m.Pool, Bound: m.bound, Seed: m.Seed}
	}},
	"skeleton": {Variants: skeletonSamplers, Recipe: func(m Mapping) features.Recipe {
		r := skeleton.Compositional{Skeleton: *m.Skeleton, Out: m.Features, Seed: m.Seed}
		if m.Hybrid {
			r.Sampler = skeleton.Hybrid
		}
		return r
	}},
	"learned":  {Fixed: true},
	"harmonic": {Fixed: true},
	"linear": {Ranged: true, Fixed: true, Recipe: func(m Mapping) features.Recipe {
		return linear.Identity{In: m.In, Low: m.low, High: m.high}
	}},
}

// longestProjection is what no ‖w‖ of the projections w ~ N(0, I) of maxout features
// passes, but with probability e⁻³⁰: ‖w‖² ≤ d + 2√(dx) + 2x with probability 1 − e⁻ˣ
// (Laurent and Massart 2000, Lemma 1).
func longestProjection(m Mapping) float64 {
	d, x := float64(m.In), 30+math.Log(float64(m.Features)*float64(max(m.Q, 1)))
	return math.Sqrt(d + 2*math.Sqrt(d*x) + 2*x)
}

// Kernels lists the names of the kernels.
func Kernels() []string { return spell.Names(Families) }

func (k KernelOptions) WithDefaults() KernelOptions {
	if k.Name == "" {
		k.Name = "gaussian"
	}
	if k.Width == "" {
		k.Width = "median"
	}
	if k.Nu == 0 {
		k.Nu = 1.5
	}
	if k.Form == "" {
		k.Form = "paired"
	}
	if k.Draw == "" {
		k.Draw = "iid"
	}
	if k.Q == 0 {
		k.Q = 4
	}
	if k.Features == 0 {
		k.Features = DefaultFeatures
	}
	return k
}

// Validate refuses what cannot be right whatever the data are.
func (k KernelOptions) Validate() error {
	f, ok := Families[k.Name]
	switch {
	case !ok:
		return exit.Usage("unknown kernel %q%s; have %s", k.Name, spell.DidYouMean(k.Name, Kernels()), strings.Join(Kernels(), ", "))
	case k.Found() && k.Frequencies == "":
		return exit.Usage("--kernel %s takes the --frequencies that bochner align has found", k.Name)
	case k.Found():
		return nil
	case k.Frequencies != "":
		return exit.Usage("--frequencies are for --kernel learned and harmonic (have %s)", k.Name)
	}
	if k.Gamma != 0 {
		if !f.gamma {
			return exit.Usage("--gamma: the %s kernel has no γ; give --width", k.Name)
		}
		if _, err := bandwidth.FromGamma(k.Gamma, f.distance); err != nil {
			return &exit.UsageError{Err: err}
		}
	} else if _, err := k.number(); err != nil {
		return err
	}
	m, err := k.Mapping()
	if err != nil {
		return err
	}
	if k.Features < 1 {
		return exit.Usage("--features must be at least 1 (have %d)", k.Features)
	}
	if f.forms && m.Form == fourier.Paired && k.Features%2 != 0 {
		return exit.Usage("--features must be even with --form paired, which has two for each frequency (have %d)", k.Features)
	}
	if m.Draw != fourier.Iid && !f.draws {
		return exit.Usage("--draw %s: frequencies of the %s kernel are drawn independently only", k.Draw, k.Name)
	}
	if err := features.Validate(f.Recipe(m)); err != nil {
		return &exit.UsageError{Err: err}
	}
	return nil
}

// Mapping returns a map with width and bound 1, for rows of one number or of those
// that the skeleton takes, to be filled in when the data are known.
func (k KernelOptions) Mapping() (Mapping, error) {
	m := Mapping{KernelOptions: k, In: 1, width: 1, bound: 1, low: []float32{-1}, high: []float32{1}}
	if err := m.Form.UnmarshalText([]byte(k.Form)); err != nil {
		return m, exit.Usage("--form: %v", err)
	}
	if err := m.Draw.UnmarshalText([]byte(k.Draw)); err != nil {
		return m, exit.Usage("--draw: %v", err)
	}
	if (k.Name == "skeleton") != (k.Skeleton != nil) {
		return m, exit.Usage("--skeleton names the file of the kernel skeleton: give both or none")
	}
	if k.Skeleton != nil {
		s, err := skeleton.Parse(k.Skeleton)
		if err != nil {
			return m, &exit.UsageError{Err: err}
		}
		m.Skeleton = s
		m.In, _ = skeleton.Compositional{Skeleton: *s, Out: 1}.Dims()
	}
	return m, nil
}

// Frequencies is how many the features take, of a kernel that has frequencies.
func (m Mapping) Frequencies() int {
	if m.Form == fourier.Paired {
		return m.Features / 2
	}
	return m.Features
}

// Found tells that the features are found in data, not drawn.
func (k KernelOptions) Found() bool { return k.Name == "learned" || k.Name == "harmonic" }

// number returns the width that is given as a number, 0 for one to be chosen.
func (k KernelOptions) number() (float64, error) {
	if k.Width == "median" || k.Width == "scale" {
		return 0, nil
	}
	w, err := strconv.ParseFloat(k.Width, 64)
	if err != nil || !(w > 0) || math.IsInf(w, 0) {
		return 0, exit.Usage("--width must be median, scale or a number > 0 (have %q)", k.Width)
	}
	return w, nil
}

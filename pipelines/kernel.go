package pipelines

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

// mapping is a map of a family, with all that its recipe needs to know.
type mapping struct {
	KernelOptions
	in    int
	width float64 // of the kernel; 1 for a family without
	bound float64 // of the features, found on the sample; 1 until it is found
	// low and high are the ranges of the scaled columns.
	low, high []float32
	form      fourier.Form
	draw      fourier.Draw
	seed      uint64

	skeleton *skeleton.Skeleton // of the kernel skeleton
}

// family is what the command knows of a kernel.
type family struct {
	recipe func(m mapping) features.Recipe
	// widths tells that the kernel has a width; distance is that in which the
	// median is taken, and whose γ is --gamma if gamma is set.
	widths   bool
	distance bandwidth.Distance
	gamma    bool
	forms    bool // it has the forms of Fourier features
	draws    bool // it has other draws than iid
	// bounded tells that features have no bound of their own; one is found on the
	// sample.
	bounded bool
	// most is the largest that features before the factor 1/√D can be on a row of length
	// 1, of a family with bounded.
	most   func(m mapping) float64
	ranged bool // features have a range each, which are found in the profile
	fixed  bool // the number of features is that of the row
	// variants are the ways to draw features that can be compared; none is one way.
	variants []variant
}

// variant is a way to draw the features of a kernel.
type variant struct {
	name   string
	choose func(*mapping)
}

var gaussianDraws = []variant{
	{"iid", func(m *mapping) { m.draw = fourier.Iid }},
	{"orthogonal", func(m *mapping) { m.draw = fourier.Orthogonal }},
	{"structured", func(m *mapping) { m.draw = fourier.Structured }},
}

var skeletonSamplers = []variant{
	{"algorithm 1", func(m *mapping) { m.Hybrid = false }},
	{"hybrid baseline", func(m *mapping) { m.Hybrid = true }},
}

var families = map[string]family{
	"gaussian": {widths: true, gamma: true, forms: true, draws: true, variants: gaussianDraws, recipe: func(m mapping) features.Recipe {
		return fourier.Gaussian{In: m.in, Out: m.Features, Width: m.width, Form: m.form, Draw: m.draw, Seed: m.seed}
	}},
	"laplace": {widths: true, gamma: true, forms: true, distance: bandwidth.L1, recipe: func(m mapping) features.Recipe {
		return fourier.Laplace{In: m.in, Out: m.Features, Width: m.width, Form: m.form, Seed: m.seed}
	}},
	"cauchy": {widths: true, forms: true, recipe: func(m mapping) features.Recipe {
		return fourier.Cauchy{In: m.in, Out: m.Features, Width: m.width, Form: m.form, Seed: m.seed}
	}},
	"matern": {widths: true, forms: true, recipe: func(m mapping) features.Recipe {
		return fourier.Matern{In: m.in, Out: m.Features, Width: m.width, Nu: m.Nu, Form: m.form, Seed: m.seed}
	}},
	"maxout": {bounded: true, most: longestProjection, recipe: func(m mapping) features.Recipe {
		return maxout.Maxout{In: m.in, Out: m.Features, Q: m.Q, Pool: m.Pool, Bound: m.bound, Seed: m.seed}
	}},
	"skeleton": {variants: skeletonSamplers, recipe: func(m mapping) features.Recipe {
		r := skeleton.Compositional{Skeleton: *m.skeleton, Out: m.Features, Seed: m.seed}
		if m.Hybrid {
			r.Sampler = skeleton.Hybrid
		}
		return r
	}},
	"learned":  {fixed: true},
	"harmonic": {fixed: true},
	"linear": {ranged: true, fixed: true, recipe: func(m mapping) features.Recipe {
		return linear.Identity{In: m.in, Low: m.low, High: m.high}
	}},
}

// longestProjection is what no ‖w‖ of the projections w ~ N(0, I) of maxout features
// passes, but with probability e⁻³⁰: ‖w‖² ≤ d + 2√(dx) + 2x with probability 1 − e⁻ˣ
// (Laurent and Massart 2000, Lemma 1).
func longestProjection(m mapping) float64 {
	d, x := float64(m.in), 30+math.Log(float64(m.Features)*float64(max(m.Q, 1)))
	return math.Sqrt(d + 2*math.Sqrt(d*x) + 2*x)
}

// Kernels lists the names of the kernels.
func Kernels() []string { return keys(families) }

func (k KernelOptions) withDefaults() KernelOptions {
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

// validate refuses what cannot be right whatever the data are.
func (k KernelOptions) validate() error {
	f, ok := families[k.Name]
	switch {
	case !ok:
		return usage("unknown kernel %q%s; have %s", k.Name, DidYouMean(k.Name, Kernels()), strings.Join(Kernels(), ", "))
	case k.found() && k.Frequencies == "":
		return usage("--kernel %s takes the --frequencies that bochner align has found", k.Name)
	case k.found():
		return nil
	case k.Frequencies != "":
		return usage("--frequencies are for --kernel learned and harmonic (have %s)", k.Name)
	}
	if k.Gamma != 0 {
		if !f.gamma {
			return usage("--gamma: the %s kernel has no γ; give --width", k.Name)
		}
		if _, err := bandwidth.FromGamma(k.Gamma, f.distance); err != nil {
			return &UsageError{err}
		}
	} else if _, err := k.number(); err != nil {
		return err
	}
	m, err := k.mapping()
	if err != nil {
		return err
	}
	if k.Features < 1 {
		return usage("--features must be at least 1 (have %d)", k.Features)
	}
	if f.forms && m.form == fourier.Paired && k.Features%2 != 0 {
		return usage("--features must be even with --form paired, which has two for each frequency (have %d)", k.Features)
	}
	if m.draw != fourier.Iid && !f.draws {
		return usage("--draw %s: frequencies of the %s kernel are drawn independently only", k.Draw, k.Name)
	}
	if err := features.Validate(f.recipe(m)); err != nil {
		return &UsageError{err}
	}
	return nil
}

// mapping returns a map with width and bound 1, for rows of one number or of those
// that the skeleton takes, to be filled in when the data are known.
func (k KernelOptions) mapping() (mapping, error) {
	m := mapping{KernelOptions: k, in: 1, width: 1, bound: 1, low: []float32{-1}, high: []float32{1}}
	if err := m.form.UnmarshalText([]byte(k.Form)); err != nil {
		return m, usage("--form: %v", err)
	}
	if err := m.draw.UnmarshalText([]byte(k.Draw)); err != nil {
		return m, usage("--draw: %v", err)
	}
	if (k.Name == "skeleton") != (k.Skeleton != nil) {
		return m, usage("--skeleton names the file of the kernel skeleton: give both or none")
	}
	if k.Skeleton != nil {
		s, err := skeleton.Parse(k.Skeleton)
		if err != nil {
			return m, &UsageError{err}
		}
		m.skeleton = s
		m.in, _ = skeleton.Compositional{Skeleton: *s, Out: 1}.Dims()
	}
	return m, nil
}

// frequencies is how many the features take, of a kernel that has frequencies.
func (m mapping) frequencies() int {
	if m.form == fourier.Paired {
		return m.Features / 2
	}
	return m.Features
}

// found tells that the features are found in data, not drawn.
func (k KernelOptions) found() bool { return k.Name == "learned" || k.Name == "harmonic" }

// number returns the width that is given as a number, 0 for one to be chosen.
func (k KernelOptions) number() (float64, error) {
	if k.Width == "median" || k.Width == "scale" {
		return 0, nil
	}
	w, err := strconv.ParseFloat(k.Width, 64)
	if err != nil || !(w > 0) || math.IsInf(w, 0) {
		return 0, usage("--width must be median, scale or a number > 0 (have %q)", k.Width)
	}
	return w, nil
}

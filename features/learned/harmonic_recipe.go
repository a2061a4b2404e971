package learned

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/io/rowio"
)

// maxDegree is the largest degree ℓ of a harmonic in a recipe.
const maxDegree = 1024

// maxTerms is the largest number of harmonics in a recipe.
const maxTerms = 1 << 20

// Harmonic is a harmonic, and how often it was chosen.
type Harmonic struct {
	Degree int `json:"degree"` // ℓ, from 0 to 1024
	Index  int `json:"index"`  // number among the harmonics of this degree, 0 … N(d,ℓ)−1
	Count  int `json:"count"`  // c ≥ 1, how often it was chosen
}

// Harmonics is the recipe of spherical harmonics as features. For harmonics Y_j that were chosen
// c_j times,
//
//	φ(x)_j = √(c_j/Σc) Y_j(x/‖x‖),    K(x, z) = Σ_j (c_j/Σc) Y_j(x/‖x‖) Y_j(z/‖z‖).
//
// So a harmonic that was chosen several times is one feature with a larger amplitude (Bullins,
// Zhang & Zhang 2018, Appendix A.3). Nothing is random.
type Harmonics struct {
	In    int        `json:"in"`    // row length d ≥ 2
	Terms []Harmonic `json:"terms"` // different harmonics, one per feature
}

func init() {
	features.Register("harmonic", features.Decode[Harmonics])
	kernel.Register(kernel.Family{
		Name: "harmonic", Summary: "spherical harmonics chosen from labelled data",
		New: func() kernel.Options { return &HarmonicOptions{Features: kernel.DefaultFeatures} },
	})
}

// Validate implements features.Recipe.
func (r Harmonics) Validate() error {
	fail := func(format string, a ...any) error {
		return fmt.Errorf("harmonic: %s", fmt.Sprintf(format, a...))
	}
	switch {
	case r.In < 2 || r.In > rowio.MaxDim:
		return fail("in must be 2 to %d (have %d)", rowio.MaxDim, r.In)
	case len(r.Terms) < 1 || len(r.Terms) > maxTerms:
		return fail("terms must be 1 to %d (have %d)", maxTerms, len(r.Terms))
	}
	seen := make(map[[2]int]bool, len(r.Terms))
	for i, t := range r.Terms {
		switch {
		case t.Degree < 0 || t.Degree > maxDegree:
			return fail("term %d: degree must be 0 to %d (have %d)", i, maxDegree, t.Degree)
		case t.Index < 0 || t.Index >= number(r.In, t.Degree):
			return fail("term %d: index must be 0 to %d for degree %d (have %d)", i, number(r.In, t.Degree)-1, t.Degree, t.Index)
		case t.Count < 1 || t.Count > 1<<30:
			return fail("term %d: count must be 1 to %d (have %d)", i, 1<<30, t.Count)
		case seen[[2]int{t.Degree, t.Index}]:
			return fail("term %d: degree %d, index %d appears twice; raise its count instead", i, t.Degree, t.Index)
		}
		seen[[2]int{t.Degree, t.Index}] = true
	}
	return nil
}

// Dims returns the row length and the number of harmonics.
func (r Harmonics) Dims() (in, out int) { return r.In, len(r.Terms) }

// New returns the feature map. The error names the invalid field.
func (r Harmonics) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	var total float64
	for _, t := range r.Terms {
		total += float64(t.Count)
	}
	m := newMap(r.In, r.Terms)
	for j, t := range r.Terms {
		amplitude := math.Sqrt(float64(t.Count) / total)
		m.terms[j].scale *= amplitude
		m.bound = max(m.bound, float32(amplitude*math.Sqrt(float64(number(r.In, t.Degree)))))
	}
	return m, nil
}

// PrepareKernel returns the kernel Σ_j (c_j/Σc) Y_j(x/‖x‖) Y_j(z/‖z‖), in float64. The function panics
// unless both rows have length In.
func (r Harmonics) PrepareKernel() (func(x, z []float32) float64, error) {
	made, err := r.New()
	if err != nil {
		return nil, err
	}
	return func(x, z []float32) (sum float64) {
		if len(x) != len(z) || len(x) != r.In {
			panic("harmonic: Kernel of rows of different lengths")
		}
		m := made.(*harmonicMap)
		u, v := make([]float64, len(r.Terms)), make([]float64, len(r.Terms))
		s := m.newScratch()
		m.row(u, x, s)
		m.row(v, z, s)
		for j, a := range u {
			sum += float64(a * v[j])
		}
		return sum
	}, nil
}

// HarmonicOptions are the options of the kernel "harmonic". The zero value chooses a harmonic
// kernel.DefaultFeatures times. Width and Gamma do not affect the harmonics.
type HarmonicOptions struct {
	Frequencies string       `flag:"frequencies" placeholder:"DIR" help:"Directory with the features that bochner align learned, for --kernel learned or harmonic. It includes the preprocessing."`
	Width       kernel.Width `flag:"width,common" placeholder:"NUMBER"`
	Gamma       float64      `flag:"gamma" help:"Alternative to --width: γ in exp(-γ‖x-z‖²) (gaussian) or exp(-γ‖x-z‖₁) (laplace)."`
	Features    int          `flag:"features,common" help:"Number of random features. More features are more accurate and slower."`
}

var _ kernel.Learned = (*HarmonicOptions)(nil)

// Directory returns the directory of harmonics that were chosen earlier, or "" if they are still to
// be chosen.
func (o *HarmonicOptions) Directory() string { return o.Frequencies }

// Start returns the options of a Gaussian kernel with the same number of features. It stands for
// the harmonics until these are chosen, and reports show its width.
func (o *HarmonicOptions) Start() kernel.Options {
	return &fourier.GaussianOptions{Width: o.Width, Gamma: o.Gamma, Features: o.Features, Form: fourier.Offset}
}

// Count returns how many times a harmonic is chosen. A harmonic may be chosen again, so there can
// be fewer features.
func (o *HarmonicOptions) Count() int { return kernel.Count(o.Features) }

// Validate implements kernel.Options.
func (o *HarmonicOptions) Validate() error {
	if o.Frequencies != "" {
		return nil // the directory determines the rest
	}
	return o.Start().Validate()
}

// Size returns the number of features and the memory that they need, in bytes.
func (o *HarmonicOptions) Size(in int) kernel.Size {
	n := int64(o.Count())
	return kernel.Size{Features: int(n), Map: 200 * n, Row: 4 * n}
}

// Choose chooses the Gaussian kernel of Start for the data.
func (o *HarmonicOptions) Choose(d *kernel.Data) (*kernel.Choice, error) { return o.Start().Choose(d) }

// number returns N(d,ℓ), the number of harmonics of degree ℓ on S^{d−1},
//
//	N(d,ℓ) = C(d−1+ℓ, ℓ) − C(d−3+ℓ, ℓ−2).
//
// It returns math.MaxInt for numbers above 2⁵⁰ or so. Beyond maxDegree smaller numbers may be
// math.MaxInt, too. It panics unless d ≥ 2 and ℓ ≥ 0.
func number(d, degree int) int {
	if d < 2 || degree < 0 {
		panic("harmonic: number: want d ≥ 2 and degree ≥ 0")
	}
	switch {
	case degree == 0:
		return 1
	case d == 2:
		return 2
	}
	// N(d,ℓ) = (2ℓ+d−2)/ℓ · C(ℓ+d−3, ℓ−1). A floating-point estimate shows whether it fits an int.
	n := degree + d - 3
	k := min(degree-1, d-2)
	approx := float64(2*degree+d-2) / float64(degree)
	for i := range k {
		approx *= float64(n-i) / float64(i+1)
		if approx > 1<<60 {
			return math.MaxInt
		}
	}
	if approx > 1<<50 {
		return math.MaxInt
	}
	choose := 1
	for i := range k {
		choose = choose * (n - i) / (i + 1)
	}
	// The product is N·ℓ with N ≤ 2⁵⁰, so it overflows only for very large ℓ. ℓ divides it.
	if choose > math.MaxInt/(2*degree+d-2) {
		return math.MaxInt
	}
	return choose * (2*degree + d - 2) / degree
}

// FirstHarmonics returns the first n harmonics on S^{d−1}, in the order of degree and number, each with
// Count 1. It panics if d < 2.
func FirstHarmonics(d, n int) []Harmonic {
	out := make([]Harmonic, 0, max(n, 0))
	for degree := 0; len(out) < n; degree++ {
		for i := range min(number(d, degree), n-len(out)) {
			out = append(out, Harmonic{Degree: degree, Index: i, Count: 1})
		}
	}
	return out
}

// path describes a harmonic as a product of factors; see the package comment.
type path struct {
	m       int      // ℓ_2, the degree in the first two coordinates
	sine    bool     // B is √2 Im z^m, not √2 Re z^m
	factors []factor // P_k with n > 0, from the last coordinate down
	scale   float64  // product of the constants: √2 of B, and each P_k with n = 0
}

// factor is P_k of degree n = ℓ_k − ℓ_{k−1}, where below is ℓ_{k−1}.
type factor struct{ k, below, n int }

// pathOf returns the harmonic on S^{d−1} of a degree, by its number among the harmonics of that
// degree.
func pathOf(d, degree, index int) path {
	p := path{scale: 1}
	for k := d; k > 2; k-- {
		below := 0
		for ; ; below++ {
			if n := number(k-1, below); index >= n {
				index -= n
				continue
			}
			break
		}
		if n := degree - below; n > 0 {
			p.factors = append(p.factors, factor{k, below, n})
		} else {
			p.scale *= p0(k, below)
		}
		degree = below
		if degree == 0 {
			break // all remaining factors are 1
		}
	}
	p.m, p.sine = degree, degree > 0 && index == 1
	if degree > 0 {
		p.scale *= math.Sqrt2
	}
	return p
}

// p0 returns the constant P_0 of coordinate k, where below is ℓ_{k−1}.
func p0(k, below int) float64 {
	square := 1.0
	for i := range below {
		square *= float64(k+2*i) / float64(k-1+2*i)
	}
	return math.Sqrt(square)
}

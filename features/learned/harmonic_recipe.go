package learned

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/io/rows"
)

// maxDegree is the largest degree ℓ of a harmonic in a recipe.
const maxDegree = 1024

// maxTerms is the largest number of harmonics in a recipe.
const maxTerms = 1 << 20

// Term is a harmonic, and how often it was chosen.
type Term struct {
	Degree int `json:"degree"` // ℓ, from 0 to maxDegree
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
	In    int    `json:"in"`    // row length d ≥ 2
	Terms []Term `json:"terms"` // different harmonics, one per feature
}

var _ features.Fixed = Harmonics{}

func init() {
	features.Register("harmonic", features.Decode[Harmonics])
	kernel.Register(kernel.Family{
		Name: "harmonic", Summary: "spherical harmonics chosen from labelled data",
		New: func() kernel.Options { return &HarmonicOptions{Features: kernel.DefaultFeatures} },
	})
}

// Validate returns an error that names the invalid field.
func (r Harmonics) Validate() error {
	fail := func(format string, a ...any) error {
		return fmt.Errorf("harmonic: %s", fmt.Sprintf(format, a...))
	}
	switch {
	case r.In < 2 || r.In > rows.MaxDim:
		return fail("in must be 2 to %d (have %d)", rows.MaxDim, r.In)
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

// Kernel returns Σ_j (c_j/Σc) Y_j(x/‖x‖) Y_j(z/‖z‖), or NaN if the recipe is invalid. It panics
// unless both rows have length In.
func (r Harmonics) Kernel(x, z []float32) float64 {
	made, err := r.New()
	if err != nil {
		return math.NaN()
	}
	if len(x) != len(z) || len(x) != r.In {
		panic("harmonic: Kernel of rows of different lengths")
	}
	m := made.(*harmonicMap)
	u, v := make([]float64, len(r.Terms)), make([]float64, len(r.Terms))
	s := m.newScratch()
	m.row(u, x, s)
	m.row(v, z, s)
	var sum float64
	for j, a := range u {
		sum += float64(a * v[j])
	}
	return sum
}

// Fixed implements features.Fixed: the map is not random.
func (Harmonics) Fixed() {}

package preprocess

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
)

// Join is the recipe of φ(x) = [φ_1(x) | φ_2(x) | …], whose kernel is the sum
//
//	K(x, z) = K_1(x, z) + K_2(x, z) + …
//
// A part may be a chain, so parts may scale the row differently. The sizes of their features determine the
// weights of the parts: ridge regression on features multiplied by a has the kernel a²K.
//
// Each part keeps its own grid: the map is Ranged, and the features of a part span their whole grid however
// large the other parts are. Put the map with the most features first, and give it a multiple of 16
// features: then it writes its numbers directly to their place.
type Join struct {
	Parts []features.Recipe
}

func init() { features.Register("join", openJoin) }

// maxJoinParts is the largest number of parts.
const maxJoinParts = 16

// Validate returns an error unless all parts are valid and take rows of the same length.
func (r Join) Validate() error {
	if len(r.Parts) < 1 || len(r.Parts) > maxJoinParts {
		return fmt.Errorf("join: the number of parts must be 1 to %d (have %d)", maxJoinParts, len(r.Parts))
	}
	length, total := 0, 0
	for i, p := range r.Parts {
		if p == nil {
			return fmt.Errorf("join: part %d: the recipe is missing", i+1)
		}
		last := p
		if c, ok := p.(features.Chain); ok && len(c.Steps) > 0 {
			last = c.Steps[len(c.Steps)-1]
		}
		if _, ok := last.(Join); ok {
			return fmt.Errorf("join: part %d: a join inside a join; list its parts here", i+1)
		}
		in, out, err := features.Dims(p)
		if err != nil {
			return fmt.Errorf("join: part %d: %w", i+1, err)
		}
		if i > 0 && in != length {
			return fmt.Errorf("join: part %d: takes rows of %d values, part 1 rows of %d", i+1, in, length)
		}
		if out > math.MaxInt32-total {
			return fmt.Errorf("join: part %d: more than %d features in all", i+1, math.MaxInt32)
		}
		length, total = in, total+out
	}
	return nil
}

// Dims returns the row length and the number of features of all parts.
func (r Join) Dims() (in, out int) {
	for _, p := range r.Parts {
		d, n, _ := features.Dims(p)
		in, out = d, out+n
	}
	return in, out
}

// Kernel returns the sum of the kernels of the parts. It is NaN if a part has none.
func (r Join) Kernel(x, z []float32) (sum float64) {
	for _, p := range r.Parts {
		kernel, err := features.Kernel(p)
		if err != nil {
			return math.NaN()
		}
		sum += kernel(x, z)
	}
	return sum
}

// New draws the maps. The result is Ranged if all of them are Gridded.
func (r Join) New() (_ features.Map, err error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	parts := make([]features.Map, len(r.Parts))
	for i, p := range r.Parts {
		if parts[i], err = p.New(); err != nil {
			return nil, fmt.Errorf("join: part %d: %w", i+1, err)
		}
	}
	return joinMaps(parts), nil
}

// NewShort implements features.ShortFormRecipe. Parts without a map for the short form get whole rows. It
// returns nil if no part has such a map.
func (r Join) NewShort(form *features.ShortForm) (_ features.Map, err error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	parts, hasShort := make([]features.Map, len(r.Parts)), false
	for i, p := range r.Parts {
		if g, ok := p.(features.ShortFormRecipe); ok {
			if parts[i], err = g.NewShort(form); err != nil {
				return nil, fmt.Errorf("join: part %d: %w", i+1, err)
			}
		}
		if parts[i] != nil {
			hasShort = true
			continue
		}
		whole, err := p.New()
		if err != nil {
			return nil, fmt.Errorf("join: part %d: %w", i+1, err)
		}
		parts[i] = features.FromShortForm(form, whole)
	}
	if !hasShort {
		return nil, nil
	}
	return joinMaps(parts), nil
}

// AddFiles implements features.FileUser.
func (r Join) AddFiles(f *features.Files) {
	for _, p := range r.Parts {
		f.AddOf(p)
	}
}

// joinJSON is the JSON form of a Join.
type joinJSON struct {
	Parts []features.Sealed `json:"parts"`
}

// MarshalJSON returns {"parts": [sealed recipes]}.
func (r Join) MarshalJSON() ([]byte, error) {
	j := joinJSON{Parts: make([]features.Sealed, len(r.Parts))}
	for i, p := range r.Parts {
		s, err := features.Seal(p)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i+1, err)
		}
		j.Parts[i] = s
	}
	return json.Marshal(j)
}

// openJoin reads the output of MarshalJSON. Unknown fields are errors.
func openJoin(data []byte, files *features.Files) (_ Join, err error) {
	var j joinJSON
	if err := features.DecodeStrict(data, &j); err != nil {
		return Join{}, err
	}
	r := Join{make([]features.Recipe, len(j.Parts))}
	for i, s := range j.Parts {
		if err := shallow(s); err != nil { // check this before opening, so that input cannot choose the recursion depth
			return Join{}, fmt.Errorf("part %d: %w", i+1, err)
		}
		if r.Parts[i], err = s.WithFiles(files).Open(); err != nil {
			return Join{}, fmt.Errorf("part %d: %w", i+1, err)
		}
	}
	return r, r.Validate()
}

// shallow returns an error if the sealed recipe contains a join.
func shallow(s features.Sealed) error {
	inside := errors.New("a join inside a join")
	if s.Kind == "join" {
		return inside
	}
	if s.Kind != "chain" {
		return nil
	}
	var c struct {
		Steps []struct {
			Kind string `json:"kind"`
		} `json:"steps"`
	}
	if err := json.Unmarshal(s.JSON, &c); err != nil {
		return err
	}
	for _, step := range c.Steps {
		if step.Kind == "join" {
			return inside
		}
	}
	return nil
}

// joinMap is the map of a Join.
type joinMap struct {
	parts   []features.Map
	in, out int
	scratch sync.Pool // of *[]float32
}

// joinMaps returns the map that joins the features of the parts. It is Gridded and Ranged if all parts are Gridded; a
// part that is not Ranged has the centre 0 and its own bound for all of its features.
func joinMaps(parts []features.Map) features.Map {
	m := &joinMap{parts: parts}
	for _, p := range parts {
		in, out := p.Dims()
		m.in, m.out = in, m.out+out
	}
	r := &griddedJoin{joinMap: m}
	for _, p := range parts {
		g, ok := p.(features.Gridded)
		if !ok {
			return m
		}
		r.grids = append(r.grids, g)
		r.step = max(r.step, g.Step())
		if griddedJoin, ok := p.(features.Ranged); ok {
			centre, half := griddedJoin.Ranges()
			r.centre, r.half = append(r.centre, centre...), append(r.half, half...)
			continue
		}
		_, out := p.Dims()
		for range out {
			r.centre, r.half = append(r.centre, 0), append(r.half, float64(g.Step()*features.ByteSteps))
		}
	}
	return r
}

// Dims returns the row length and the number of features of all parts.
func (m *joinMap) Dims() (in, out int) { return m.in, m.out }

// TakesMissing reports whether all parts take NaN.
func (m *joinMap) TakesMissing() bool {
	for _, p := range m.parts {
		if !features.TakesMissing(p) {
			return false
		}
	}
	return true
}

// Apply stores the features of the n rows of x in dst. It panics if a slice is too short.
func (m *joinMap) Apply(dst, x []float32, n int) {
	if n < 0 || len(x) < n*m.in || len(dst) < n*m.out {
		panic("join: Apply: slice too short")
	}
	z, _ := m.scratch.Get().(*[]float32)
	if z == nil {
		z = new([]float32)
	}
	defer m.scratch.Put(z)
	const maxRows = 96 // rows that are mapped together: a multiple of the numbers of rows that maps process together
	for lo := 0; lo < n; lo += maxRows {
		rows, first := min(maxRows, n-lo), 0
		for _, p := range m.parts {
			_, out := p.Dims()
			if cap(*z) < rows*out {
				*z = blas.Make[float32](rows * out)
			}
			mapped := (*z)[:rows*out]
			p.Apply(mapped, x[lo*m.in:], rows)
			for i := range rows {
				copy(dst[(lo+i)*m.out+first:][:out], mapped[i*out:])
			}
			first += out
		}
	}
}

// griddedJoin is the map of a Join whose parts are all Gridded.
type griddedJoin struct {
	*joinMap
	grids        []features.Gridded
	centre, half []float64
	step         float64
}

var _ features.Ranged = (*griddedJoin)(nil)

// Quantize stores the features of n ≤ features.MaxRows rows of x, each part on its own grid. It panics
// if x is too short.
func (m *griddedJoin) Quantize(dst *features.Grid, x []float32, n, threads int) (saturated int64) {
	if dst.D() != m.out {
		panic("join: Quantize: the grid has a different number of features")
	}
	dst.Resize(n)
	first := 0
	for _, g := range m.grids {
		_, out := g.Dims()
		dst.Columns(first, out, func(part *features.Grid) { saturated += g.Quantize(part, x, n, threads) })
		first += out
	}
	return saturated
}

// Step returns the largest step of a part.
func (m *griddedJoin) Step() float64 { return m.step }

// Wide reports whether the first part, which has the most features, is Wide. Features of single columns in
// other parts need no finer grid.
func (m *griddedJoin) Wide() bool { return features.Wide(m.parts[0]) }

// Ranges returns the centres and half lengths of the features' ranges.
func (m *griddedJoin) Ranges() (centre, half []float64) { return m.centre, m.half }

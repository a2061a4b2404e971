package features

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/internal/blas"
)

// Chain is the recipe of maps applied one after the other: preprocessing, then a feature map. All steps but
// the last are not Random, so the kernel of the chain is the kernel of the last step on the output of the
// others.
type Chain struct {
	Steps []Recipe
}

func init() { Register("chain", openChain) }

// StepsOf returns the steps of a Chain. Another recipe is its own only step.
func StepsOf(r Recipe) []Recipe {
	if c, ok := r.(Chain); ok {
		return c.Steps
	}
	return []Recipe{r}
}

// New draws the maps. The result is Gridded, a Hasher or Ranged if the last step's map is.
func (c Chain) New() (Map, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	first, err := c.begin()
	if err != nil {
		return nil, err
	}
	end := len(first)
	short, last, err := shortChain(first, c.Steps[end])
	if last == nil && err == nil {
		last, err = c.Steps[end].New()
		short = first
	}
	if err != nil {
		return nil, fmt.Errorf("chain: step %d: %w", end+1, err)
	}
	return compose(short, last), nil
}

// begin draws the maps of all steps but the last.
func (c Chain) begin() ([]Map, error) {
	first := make([]Map, len(c.Steps)-1)
	for i, r := range c.Steps[:len(first)] {
		m, err := r.New()
		if err != nil {
			return nil, fmt.Errorf("chain: step %d: %w", i+1, err)
		}
		first[i] = m
	}
	return first, nil
}

// NewShort implements ShortFormRecipe. A chain has a map for the short form if all steps but the last map
// column by column and zeros to zeros, and the last step has one.
func (c Chain) NewShort(form *ShortForm) (Map, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	last, ok := c.Steps[len(c.Steps)-1].(ShortFormRecipe)
	if !ok {
		return nil, nil
	}
	first, err := c.begin()
	if err != nil {
		return nil, err
	}
	for i, m := range first {
		first[i], form = shortStep(m, form)
		if form == nil {
			return nil, nil
		}
	}
	m, err := last.NewShort(form)
	if err != nil || m == nil {
		return nil, err
	}
	return compose(first, m), nil
}

// FromShortForm returns the map from rows in the short form of c to the features of m, which takes whole rows. It
// is Gridded, a Hasher or Ranged if m is.
func FromShortForm(c *ShortForm, m Map) Map { return compose([]Map{expander{c}}, m) }

// expander maps the short form of rows to whole rows.
type expander struct{ *ShortForm }

// Dims returns the lengths of both forms.
func (e expander) Dims() (in, out int) { return e.Row() }

// Apply stores the whole rows of the n rows of x in dst. It panics if a slice is too short.
func (e expander) Apply(dst, x []float32, n int) {
	if in, out := e.Dims(); n < 0 || len(x) < n*in || len(dst) < n*out {
		panic("features: Apply: slice too short")
	}
	e.expand(dst, x, n)
}

// compose returns the composition of the first maps and the last one. It is Gridded, a Hasher or Ranged if
// the last is.
func compose(first []Map, last Map) Map {
	if len(first) == 0 {
		return last
	}
	m := &chainMap{first: first, last: last}
	g, gridded := last.(Gridded)
	h, hashes := last.(Hasher)
	r, ranged := last.(Ranged)
	switch {
	case gridded && hashes:
		return &hashedChain{&griddedChain{m, g}, h}
	case gridded && ranged:
		return &rangedChain{&griddedChain{m, g}, r}
	case gridded:
		return &griddedChain{m, g}
	}
	return m
}

// Validate returns an error unless every step is valid and the steps fit each other.
func (c Chain) Validate() error {
	if len(c.Steps) == 0 {
		return errors.New("chain: no steps; give at least one recipe")
	}
	width := 0
	for i, r := range c.Steps {
		switch r.(type) {
		case nil:
			return fmt.Errorf("chain: step %d: the recipe is missing", i+1)
		case Chain:
			return fmt.Errorf("chain: step %d: a chain inside a chain; list its steps here", i+1)
		case Random:
			if i < len(c.Steps)-1 {
				return fmt.Errorf("chain: step %d: %T is random; only the last step may be", i+1, r)
			}
		}
		in, out, err := Dims(r)
		if err != nil {
			return fmt.Errorf("chain: step %d: %w", i+1, err)
		}
		if i > 0 && in != width {
			return fmt.Errorf("chain: step %d: takes rows of %d values, but step %d returns %d", i+1, in, i, width)
		}
		width = out
	}
	return nil
}

// Dims returns the row length of the first step and the number of features of
// the last. The chain must be valid.
func (c Chain) Dims() (in, out int) {
	in, _, _ = Dims(c.Steps[0])
	_, out, _ = Dims(c.Steps[len(c.Steps)-1])
	return in, out
}

// PrepareKernel returns the kernel of the last step, applied to the output of the steps before it. It fails if a
// step is not valid.
func (c Chain) PrepareKernel() (func(x, z []float32) float64, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	first, err := c.begin()
	if err != nil {
		return nil, err
	}
	kernel, err := Kernel(c.Steps[len(first)])
	if err != nil {
		return nil, err
	}
	return func(x, z []float32) float64 {
		if len(x) != len(z) {
			panic("features: Kernel of rows of different lengths")
		}
		for _, m := range first {
			x, z = mapped(m, x, z)
		}
		return kernel(x, z)
	}, nil
}

// AddFiles implements FileUser.
func (c Chain) AddFiles(f *Files) {
	for _, r := range c.Steps {
		f.AddOf(r)
	}
}

// chainJSON is the JSON form of a Chain.
type chainJSON struct {
	Steps []Sealed `json:"steps"`
}

// MarshalJSON returns {"steps": [sealed recipes]}.
func (c Chain) MarshalJSON() ([]byte, error) {
	j := chainJSON{Steps: make([]Sealed, len(c.Steps))}
	for i, r := range c.Steps {
		s, err := Seal(r)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		j.Steps[i] = s
	}
	return json.Marshal(j)
}

// openChain reads the output of MarshalJSON. Unknown fields are errors.
func openChain(data []byte, files *Files) (Chain, error) {
	var j chainJSON
	if err := DecodeStrict(data, &j); err != nil {
		return Chain{}, err
	}
	c := Chain{make([]Recipe, len(j.Steps))}
	for i, s := range j.Steps {
		if s.Kind == "chain" { // check this before opening, so that input cannot choose the recursion depth
			return Chain{}, fmt.Errorf("step %d: a chain inside a chain", i+1)
		}
		var err error
		if c.Steps[i], err = s.WithFiles(files).open(); err != nil {
			return Chain{}, fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return c, c.Validate()
}

// chainMap is the map of a chain of two or more steps.
type chainMap struct {
	first   []Map
	last    Map
	scratch blas.Buffers[float32]
}

var _ MissingTaker = (*chainMap)(nil)

// Dims returns the row length of the first map and the number of features of the last.
func (c *chainMap) Dims() (in, out int) {
	in, _ = c.first[0].Dims()
	_, out = c.last.Dims()
	return in, out
}

// TakesMissing reports whether the first map takes NaN.
func (c *chainMap) TakesMissing() bool { return TakesMissing(c.first[0]) }

// Apply works in blocks of blas.MaxRows rows, which bounds its scratch memory.
func (c *chainMap) Apply(dst, x []float32, n int) {
	in, out := c.Dims()
	if n < 0 || len(x) < n*in || len(dst) < n*out {
		panic("features: Apply: slice too short")
	}
	for lo := 0; lo < n; lo += blas.MaxRows {
		rows := min(blas.MaxRows, n-lo)
		c.prepare(x[lo*in:], rows, func(y []float32) { c.last.Apply(dst[lo*out:], y, rows) })
	}
}

// prepare applies the maps before the last to the n rows of x and calls use with the result.
func (c *chainMap) prepare(x []float32, n int, use func(y []float32)) {
	var buffers [2]*[]float32
	for i, m := range c.first {
		_, out := m.Dims()
		to := buffers[i%2] // last read two steps ago, so it can be overwritten
		if to == nil {
			to = c.scratch.Take(n * out)
			buffers[i%2] = to
		}
		y := blas.Grow(to, n*out)
		m.Apply(y, x, n)
		x = y
	}
	use(x)
	for _, b := range buffers {
		if b != nil {
			c.scratch.Put(b)
		}
	}
}

// griddedChain is a chain whose last map is Gridded.
type griddedChain struct {
	*chainMap
	grid Gridded
}

var _ Gridded = (*griddedChain)(nil)

// Quantize applies the other maps and then the last map's Quantize. It panics if x is too short.
func (c *griddedChain) Quantize(dst *Grid, x []float32, n, threads int) (saturated int64) {
	in, _ := c.Dims()
	if n < 0 || len(x) < n*in {
		panic("features: Quantize: slice too short")
	}
	c.prepare(x, n, func(y []float32) { saturated = c.grid.Quantize(dst, y, n, threads) })
	return saturated
}

// Step returns the last map's Step.
func (c *griddedChain) Step() float64 { return c.grid.Step() }

// rangedChain is a chain whose last map is Ranged.
type rangedChain struct {
	*griddedChain
	ranged Ranged
}

var _ Ranged = (*rangedChain)(nil)

// Ranges returns the last map's Ranges.
func (c *rangedChain) Ranges() (centre, half []float64) { return c.ranged.Ranges() }

// Wide returns the last map's Wide.
func (c *rangedChain) Wide() bool { return c.ranged.Wide() }

// hashedChain is a chain whose last map is Gridded and a Hasher.
type hashedChain struct {
	*griddedChain
	hash Hasher
}

var _ Hasher = (*hashedChain)(nil)

// HashLen returns the last map's HashLen.
func (c *hashedChain) HashLen() int { return c.hash.HashLen() }

// Hash applies the other maps and then the last map's Hash. It panics if a slice is too short.
func (c *hashedChain) Hash(dst []uint64, x []float32, n int) {
	in, _ := c.Dims()
	if n < 0 || len(x) < n*in {
		panic("features: Hash: slice too short")
	}
	c.prepare(x, n, func(y []float32) { c.hash.Hash(dst, y, n) })
}

// Package identity provides the feature map of the linear kernel, which returns the rows themselves. With it
// learners work on plain rows: use Recipe instead of a random map.
package identity

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
)

// Recipe is the recipe of φ(x) = x, whose kernel is K(x, z) = x·z.
//
// Rows have no natural bound, so the recipe has the range of each column for the grid. Features in float32
// do not depend on it. If the range is from the least to the largest value of a column, both are points of
// its grid, so a column of two values is represented exactly.
type Recipe struct {
	In   int       `json:"in"`             // row length d, and number of features
	Low  []float32 `json:"low,omitempty"`  // least value of each column
	High []float32 `json:"high,omitempty"` // largest value of each column, ≥ Low
	// Bound is the largest magnitude of all columns in recipes without ranges, else 0.
	Bound float64 `json:"bound,omitempty"`
}

func init() {
	features.Register("linear.identity", features.Decode[Recipe])
	kernel.Register(kernel.Family{
		Name: "linear", Summary: "x·z: the columns themselves are the features",
		New: func() kernel.Options { return &Options{} },
	})
}

// New returns the map. It is Ranged.
func (r Recipe) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	m := &featureMap{dim: r.In, centre: make([]float64, r.In), half: make([]float64, r.In)}
	for j := range r.In {
		m.half[j] = r.Bound
		if r.Bound == 0 {
			low, high := float64(r.Low[j]), float64(r.High[j])
			m.centre[j], m.half[j] = (low+high)/2, (high-low)/2
		}
		if m.half[j] == 0 {
			m.half[j] = 1
		}
	}
	return m, nil
}

// Validate implements features.Recipe.
func (r Recipe) Validate() error {
	if r.In < 1 || r.In > rowio.MaxDim {
		return fmt.Errorf("linear: Identity: in must be 1 to %d (have %d)", rowio.MaxDim, r.In)
	}
	if r.Bound != 0 {
		if !(r.Bound >= 0x1p-118 && r.Bound <= 0x1p126) {
			return fmt.Errorf("linear: Identity: bound must be a number > 0 within float32 (have %v)", r.Bound)
		}
		if len(r.Low)+len(r.High) > 0 {
			return errors.New("linear: Identity: bound cannot be used with ranges; give one of them")
		}
		return nil
	}
	if len(r.Low) != r.In || len(r.High) != r.In {
		return fmt.Errorf("linear: Identity: %d lows and %d highs for %d columns; give one of each per column", len(r.Low),
			len(r.High), r.In)
	}
	for j, low := range r.Low {
		if high := r.High[j]; !(low <= high) || !exact.Finite(low) || !exact.Finite(high) {
			return fmt.Errorf("linear: Identity: low and high of column %d must be finite and in order (have %v, %v)",
				j+1, low, high)
		}
	}
	return nil
}

// Dims implements features.Recipe.
func (r Recipe) Dims() (in, out int) { return r.In, r.In }

// featureMap is the map of a Recipe. It is immutable and safe for concurrent use.
type featureMap struct {
	dim          int
	centre, half []float64
}

var _ features.Ranged = (*featureMap)(nil)

// Dims implements features.Map.
func (m *featureMap) Dims() (in, out int) { return m.dim, m.dim }

// Apply copies the n rows of x to dst, which may be x itself. It panics if a
// slice is too short.
func (m *featureMap) Apply(dst, x []float32, n int) {
	if n < 0 || len(x) < n*m.dim || len(dst) < n*m.dim {
		panic("identity: Apply: slice too short")
	}
	copy(dst[:n*m.dim], x)
}

// Quantize stores the n ≤ features.MaxRows rows of x on the grid. Values beyond the range are as accurate
// as others up to features.MaxSteps steps; beyond that they are clipped and counted. NaN becomes 0 and is
// counted. It panics if x is too short.
func (m *featureMap) Quantize(dst *features.Grid, x []float32, n, threads int) (saturated int64) {
	return features.OnGrid(steps{m, float64(dst.Steps())}, dst, x, n, threads, float32(dst.Steps()))
}

// Ranges returns the centre and half length of each column's range. The half length is 1 for a column with
// one value.
func (m *featureMap) Ranges() (centre, half []float64) { return m.centre, m.half }

// Step returns half the longest range, divided by 127.
func (m *featureMap) Step() float64 { return slices.Max(m.half) / 127 }

// Wide returns true: columns may have any distribution in their range.
func (m *featureMap) Wide() bool { return true }

// steps maps rows to steps of the grid.
type steps struct {
	*featureMap
	largest float64
}

// Apply stores (x − centre)·largest/half, rounded to float32 at the end.
func (s steps) Apply(dst, x []float32, n int) {
	for i := range n {
		to := dst[i*s.dim:][:s.dim]
		for j, v := range x[i*s.dim:][:s.dim] {
			to[j] = float32((float64(v) - s.centre[j]) / s.half[j] * s.largest)
		}
	}
}

// Options are the options of the linear kernel, which has none.
type Options struct{}

// Validate returns nil.
func (*Options) Validate() error { return nil }

// Size returns the size of the features: as many as columns.
func (*Options) Size(in int) kernel.Size { return kernel.Size{Features: in} }

// Choose makes the recipe, with the ranges of the columns.
func (*Options) Choose(d *kernel.Data) (*kernel.Choice, error) {
	low, high, err := d.Ranges()
	if err != nil {
		return nil, err
	}
	return &kernel.Choice{Recipe: Recipe{In: d.In, Low: low, High: high}, Summary: "linear kernel", Wide: true}, nil
}

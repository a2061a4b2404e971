package preprocess

import (
	"errors"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/rows"
)

// BinLevels is the recipe of rows in which some columns of numbers are levels instead, as in a
// category are:
//
//	x ↦ (x with 0 in those columns | φ(x)),   φ the Recipe with the same fields
//
// So rows with different levels are equally far from each other, however far their numbers are. With Keep
// the numbers stay, so nearby ones are closer than others.
type BinLevels struct {
	In      int         `json:"in"`             // row length
	Columns []BinColumn `json:"columns"`        // each with an interval for each level, at least three; a column at most once
	Weight  float32     `json:"weight"`         // > 0, the number that stands for a level
	Keep    bool        `json:"keep,omitempty"` // leaves the numbers in those columns
}

var _ features.Fixed = BinLevels{}

func init() { features.Register("bins.levels", features.Decode[BinLevels]) }

// bins returns the recipe of the levels alone.
func (r BinLevels) bins() *Bins { return &Bins{In: r.In, Columns: r.Columns, Weight: r.Weight} }

// Validate returns an error that names the invalid field and column.
func (r BinLevels) Validate() error {
	if err := r.bins().Validate(); err != nil {
		return err
	}
	if _, out := r.Dims(); out > rows.MaxDim {
		return errors.New("bins: levels: too many levels")
	}
	for i, c := range r.Columns {
		if len(c.Cuts) < 2 || slices.ContainsFunc(r.Columns[:i], func(b BinColumn) bool { return b.Index == c.Index }) {
			return errors.New("bins: levels: a column must have two cuts or more, and be there once")
		}
	}
	return nil
}

// Dims returns the row length, and that followed by the levels.
func (r BinLevels) Dims() (in, out int) {
	in, out = r.bins().Dims()
	return in, in + out
}

// Origin returns the column that number j of the rows that come out is of, and whether it is one of its
// levels, of which there are that many; 0 if it is a number as before.
func (r BinLevels) Origin(j int) (column, levels int) {
	if j < r.In {
		return j, 0
	}
	return r.bins().Origin(j - r.In)
}

// Replaces tells whether the column is made levels, and no number any more.
func (r BinLevels) Replaces(column int) bool {
	return !r.Keep && slices.ContainsFunc(r.Columns, func(c BinColumn) bool { return c.Index == column })
}

// Kernel returns the inner product of the rows that come out.
func (r BinLevels) Kernel(x, z []float32) float64 { return features.InnerProduct(r, x, z) }

// Fixed marks a recipe without randomness.
func (BinLevels) Fixed() {}

// New returns the map.
func (r BinLevels) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	m, err := r.bins().New()
	if err != nil {
		return nil, err
	}
	return &levels{m.(*binMap), r.Keep}, nil
}

// levels is the map of Levels.
type levels struct {
	bins *binMap
	keep bool
}

// Dims returns the row length, and that followed by the levels.
func (m *levels) Dims() (in, out int) { return m.bins.In, m.bins.In + m.bins.out }

// Apply stores the rows that the n rows of x become in dst. It panics if a slice is too short.
func (m *levels) Apply(dst, x []float32, n int) {
	in, out := m.Dims()
	if n < 0 || len(x) < n*in || len(dst) < n*out {
		panic("bins: Apply: slice too short")
	}
	for i := range n {
		row, to := x[i*in:(i+1)*in], dst[i*out:(i+1)*out]
		copy(to, row)
		for _, c := range m.bins.Columns {
			if !m.keep {
				to[c.Index] = 0
			}
		}
		m.bins.Apply(to[in:], row, 1)
	}
}

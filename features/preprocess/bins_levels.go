package preprocess

import (
	"errors"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/rowio"
)

// BinLevels is the recipe of rows in which some numeric columns become levels, as in a category:
//
//	x ↦ (x with 0 in those columns | φ(x)),   φ the Bins with the same fields
//
// So rows with different levels have the same distance, however far apart their numbers are. With Keep the
// numbers stay too, so nearby ones are closer than others.
type BinLevels struct {
	In      int         `json:"in"`             // row length
	Columns []BinColumn `json:"columns"`        // each with an interval for each level, at least three; no column twice
	Weight  float32     `json:"weight"`         // > 0, the value of the indicator of a level
	Keep    bool        `json:"keep,omitempty"` // keeps the numbers in those columns
}

func init() { features.Register("bins.levels", features.Decode[BinLevels]) }

// bins returns the recipe of only the levels.
func (r BinLevels) bins() *Bins { return &Bins{In: r.In, Columns: r.Columns, Weight: r.Weight} }

// Validate returns an error that names the invalid field and column.
func (r BinLevels) Validate() error {
	if err := r.bins().Validate(); err != nil {
		return err
	}
	if _, out := r.Dims(); out > rowio.MaxDim {
		return errors.New("bins: levels: too many levels")
	}
	for i, c := range r.Columns {
		if len(c.Cuts) < 2 || slices.ContainsFunc(r.Columns[:i], func(b BinColumn) bool { return b.Index == c.Index }) {
			return errors.New("bins: levels: a column must have two cuts or more, and be there once")
		}
	}
	return nil
}

// Dims returns the row length without and with the levels.
func (r BinLevels) Dims() (in, out int) {
	in, out = r.bins().Dims()
	return in, in + out
}

// Origin returns the input column of output number j. If j is one of its levels, levels is their number, otherwise 0.
func (r BinLevels) Origin(j int) (column, levels int) {
	if j < r.In {
		return j, 0
	}
	return r.bins().Origin(j - r.In)
}

// Replaces reports whether levels replace the number in a column.
func (r BinLevels) Replaces(column int) bool {
	return !r.Keep && slices.ContainsFunc(r.Columns, func(c BinColumn) bool { return c.Index == column })
}

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

// levels is the map of BinLevels.
type levels struct {
	bins *binMap
	keep bool
}

// Dims returns the row length without and with the levels.
func (m *levels) Dims() (in, out int) { return m.bins.In, m.bins.In + m.bins.out }

// Apply maps the n rows of x and stores the results in dst. It panics if a slice is too short.
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

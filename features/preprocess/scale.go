package preprocess

import (
	"fmt"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/rows"
)

func init() {
	features.Register("scale.divide", features.Decode[Divide])
	features.Register("scale.standard", features.Decode[Standard])
	features.Register("scale.minmax", features.Decode[MinMax])
	features.Register("scale.unit", features.Decode[Unit])
	features.Register("scale.clip", features.Decode[Clip])
	features.Register("scale.normalscores", features.Decode[NormalScores])
}

// ScaleMap scales rows. Its only state is its parameters.
type ScaleMap struct {
	dim int
	row func(dst, x []float32) // both dim long
	// part is row for n columns from first on; nil if columns depend on each other.
	part func(first, n int) func(dst, x []float32)
}

var _ features.Columnwise = (*ScaleMap)(nil)

// Part returns the map of n columns from first on, or nil for Unit.
func (m *ScaleMap) Part(first, n int) features.Map {
	if m.part == nil {
		return nil
	}
	if first < 0 || n < 1 || first > m.dim-n {
		panic("scale: Part: columns out of range")
	}
	return byColumns(n, func(at, n int) func(dst, x []float32) { return m.part(first+at, n) })
}

// byColumns returns the map of dim columns for which part has the map of some of them.
func byColumns(dim int, part func(first, n int) func(dst, x []float32)) *ScaleMap {
	return &ScaleMap{dim: dim, row: part(0, dim), part: part}
}

// Dims returns the row length, twice.
func (m *ScaleMap) Dims() (in, out int) { return m.dim, m.dim }

// Apply scales the n rows of x into dst, which may be x itself. It panics if a
// slice is too short.
func (m *ScaleMap) Apply(dst, x []float32, n int) {
	d := m.dim
	if n < 0 || len(x) < n*d || len(dst) < n*d {
		panic("scale: Apply: slice too short")
	}
	for i := range n {
		m.row(dst[i*d:(i+1)*d], x[i*d:(i+1)*d])
	}
}

// checkDim returns an error unless d is a valid row length.
func checkDim(name string, d int) error {
	if d < 1 || d > rows.MaxDim {
		return fmt.Errorf("scale: %s: row length must be 1 to %d (have %d)", name, rows.MaxDim, d)
	}
	return nil
}

package preprocess

import (
	"fmt"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/rowio"
)

func init() {
	features.Register("scale.divide", features.Decode[Divide])
	features.Register("scale.standard", features.Decode[Standard])
	features.Register("scale.minmax", features.Decode[MinMax])
	features.Register("scale.unit", features.Decode[Unit])
	features.Register("scale.clip", features.Decode[Clip])
	features.Register("scale.normalscores", features.Decode[NormalScores])
}

// scaleMap scales rows, possibly in place. Its only state is its parameters.
type scaleMap struct {
	rowMap
	// part returns the row function for n columns from first on; it is nil if columns depend on each other.
	part func(first, n int) func(dst, x []float32)
}

var _ features.Columnwise = (*scaleMap)(nil)

// Part returns the map of n columns from first on, or nil for Unit.
func (m *scaleMap) Part(first, n int) features.Map {
	if m.part == nil {
		return nil
	}
	if first < 0 || n < 1 || first > m.in-n {
		panic("preprocess: scale: Part: columns out of range")
	}
	return byColumns(n, func(at, n int) func(dst, x []float32) { return m.part(first+at, n) })
}

// byColumns returns the map of dim columns, given a function for any range of them.
func byColumns(dim int, part func(first, n int) func(dst, x []float32)) *scaleMap {
	return &scaleMap{rowMap: rowMap{family: "scale", in: dim, out: dim, row: part(0, dim)}, part: part}
}

// checkDim returns an error unless d is a valid row length.
func checkDim(name string, d int) error {
	if d < 1 || d > rowio.MaxDim {
		return fmt.Errorf("scale: %s: row length must be 1 to %d (have %d)", name, rowio.MaxDim, d)
	}
	return nil
}

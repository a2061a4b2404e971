package preprocess

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
)

// DiagonalMetric is the recipe of x_j ↦ A_j·x_j, rounded to float32. Zeros stay zeros, so rows keep their
// short form (features.ShortForm).
type DiagonalMetric struct {
	A features.Floats `json:"a"` // one per column, ≥ 0
}

func init() {
	features.Register("metric.diagonal", features.Decode[DiagonalMetric])
	features.Register("metric.full", openFull)
	features.RegisterFile(MetricFile, decodeMetric)
}

// New returns the map.
func (r DiagonalMetric) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return &diagonal{slices.Clone(r.A)}, nil
}

// Validate returns an error that names the invalid column.
func (r DiagonalMetric) Validate() error {
	if len(r.A) < 1 || len(r.A) > rowio.MaxDim {
		return fmt.Errorf("metric: Diagonal: a must have 1 to %d numbers, one per column (have %d)", rowio.MaxDim, len(r.A))
	}
	for j, a := range r.A {
		if !(a >= 0) || !exact.Finite(a) {
			return fmt.Errorf("metric: Diagonal: a of column %d must be ≥ 0 and finite (have %v)", j+1, a)
		}
	}
	return nil
}

// Dims implements features.Recipe.
func (r DiagonalMetric) Dims() (in, out int) { return len(r.A), len(r.A) }

// diagonal is the map of DiagonalMetric.
type diagonal struct{ a []float32 }

var _ features.Columnwise = (*diagonal)(nil)

// Dims implements features.Map.
func (m *diagonal) Dims() (in, out int) { return len(m.a), len(m.a) }

// Apply maps the n rows of x into dst, which may be x itself. It panics if a slice is too short.
func (m *diagonal) Apply(dst, x []float32, n int) {
	d := len(m.a)
	if n < 0 || len(x) < n*d || len(dst) < n*d {
		panic("metric: Apply: slice too short")
	}
	for i := range n {
		row, to := x[i*d:(i+1)*d], dst[i*d:(i+1)*d]
		for j, a := range m.a {
			to[j] = row[j] * a
		}
	}
}

// Part returns the map of n columns from first on.
func (m *diagonal) Part(first, n int) features.Map {
	if first < 0 || n < 1 || first > len(m.a)-n {
		panic("metric: Part: columns out of range")
	}
	return &diagonal{m.a[first : first+n]}
}

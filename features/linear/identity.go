// Package linear holds the feature map of the linear kernel: the rows
// themselves. It stands where a random map could stand, so that learners of
// features learn on rows too.
package linear

import (
	"fmt"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/io/rows"
)

// Identity is the recipe of φ(x) = x, whose kernel is K(x, z) = x·z.
//
// Rows have no bound of their own, so the recipe states the one of the 8-bit
// grid: the largest magnitude that the data have, or a little less where few
// numbers are much larger than the rest. What is beyond is cut and counted. One
// bound serves all columns, so columns should have scales alike; see package scale.
type Identity struct {
	In    int     `json:"in"`    // row length d, and number of features
	Bound float64 `json:"bound"` // > 0, half-range of the 8-bit grid in the units of the rows
}

var _ features.Fixed = Identity{}

func init() { features.Register("linear.identity", features.Decode[Identity]) }

// New returns the map. It is Gridded.
func (r Identity) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return &Map{dim: r.In, bound: float32(r.Bound)}, nil
}

// Validate returns an error that names the field that is wrong.
func (r Identity) Validate() error {
	if r.In < 1 || r.In > rows.MaxDim {
		return fmt.Errorf("linear: Identity: in must be 1 to %d (have %d)", rows.MaxDim, r.In)
	}
	// 127/bound and bound/127 are normal numbers of float32 then.
	if !(r.Bound >= 0x1p-118 && r.Bound <= 0x1p126) {
		return fmt.Errorf("linear: Identity: bound must be a number > 0 within float32 (have %v)", r.Bound)
	}
	return nil
}

// Dims returns the row length, twice.
func (r Identity) Dims() (in, out int) { return r.In, r.In }

// Kernel returns x·z, summed in float64.
func (Identity) Kernel(x, z []float32) float64 {
	if len(x) != len(z) {
		panic("linear: Kernel of rows of different lengths")
	}
	var sum float64
	for i, v := range x {
		// The product of two float32 fits a float64: fused or not, the sum is the same.
		sum += float64(v) * float64(z[i])
	}
	return sum
}

// Fixed marks a recipe without randomness.
func (Identity) Fixed() {}

// Map is the map of Identity. It does not change, and is safe for concurrent use.
type Map struct {
	dim   int
	bound float32
}

var _ features.Gridded = (*Map)(nil)

// Dims returns the row length, twice.
func (m *Map) Dims() (in, out int) { return m.dim, m.dim }

// Apply copies the n rows of x to dst, which may be x itself. It panics if a
// slice is too short.
func (m *Map) Apply(dst, x []float32, n int) {
	if n < 0 || len(x) < n*m.dim || len(dst) < n*m.dim {
		panic("linear: Apply: slice too short")
	}
	copy(dst[:n*m.dim], x)
}

// Quantize stores the n ≤ blas.MaxRows rows of x on the grid and returns how
// many numbers were beyond the bound; NaN becomes 0 and counts too. It panics if x
// is too short.
func (m *Map) Quantize(dst *blas.Bytes, x []float32, n, threads int) (saturated int64) {
	if n < 0 || n > blas.MaxRows || len(x) < n*m.dim {
		panic("linear: Quantize: slice too short, or too many rows")
	}
	return dst.Quantize(x, n, m.bound, threads)
}

// Step returns Bound/127.
func (m *Map) Step() float64 { return float64(m.bound) / 127 }

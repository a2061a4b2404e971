package preprocess

import (
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/exact"
)

// Standard is the recipe of x_j ↦ (x_j − Mean_j) / Dev_j: columns have mean 0 and variance 1 if Mean and
// Dev describe the data. A constant column has deviation 0 and is divided by 1.
type Standard struct {
	Mean []float32 `json:"mean"` // one per column
	Dev  []float32 `json:"dev"`  // one per column, ≥ 0
}

// leastDev is the smallest normal float32. A smaller deviation has fewer digits, and dividing by it may
// overflow, so the column is treated as constant.
const leastDev = 0x1p-126

// NewStandard returns the recipe for columns with these means and variances, rounded to float32. It copies
// the slices and does not validate them.
func NewStandard(mean, variance []float64) Standard {
	r := Standard{Mean: make([]float32, len(mean)), Dev: make([]float32, len(variance))}
	for j, m := range mean {
		r.Mean[j] = float32(m)
	}
	for j, v := range variance {
		if dev := float32(math.Sqrt(v)); !(dev < leastDev) {
			r.Dev[j] = dev
		}
	}
	return r
}

// New returns the map.
func (r Standard) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	mean, dev := slices.Clone(r.Mean), slices.Clone(r.Dev)
	zeroToOne(dev)
	return byColumns(len(mean), shiftDivide(mean, dev)), nil
}

// Validate returns an error that names the invalid field and column.
func (r Standard) Validate() error {
	if err := checkDim("Standard: mean", len(r.Mean)); err != nil {
		return err
	}
	if len(r.Dev) != len(r.Mean) {
		return fmt.Errorf("scale: Standard: %d means and %d deviations; give one of each per column", len(r.Mean), len(r.Dev))
	}
	for j, m := range r.Mean {
		if !exact.Finite(m) {
			return fmt.Errorf("scale: Standard: mean of column %d must be finite in float32 (have %v)", j+1, m)
		}
		if d := r.Dev[j]; !exact.Finite(d) || d != 0 && d < leastDev {
			return fmt.Errorf("scale: Standard: dev of column %d must be 0, or at least %g and finite in float32 (have %v)",
				j+1, float32(leastDev), d)
		}
	}
	return nil
}

// Dims implements features.Recipe.
func (r Standard) Dims() (in, out int) { return len(r.Mean), len(r.Mean) }

// shiftDivide returns the row map (x − shift) / by of some columns.
func shiftDivide(shift, by []float32) func(first, n int) func(dst, x []float32) {
	return func(first, n int) func(dst, x []float32) {
		shift, by := shift[first:first+n], by[first:first+n]
		return func(dst, x []float32) {
			dst, shift, by := dst[:len(x)], shift[:len(x)], by[:len(x)]
			for j, v := range x {
				dst[j] = (v - shift[j]) / by[j]
			}
		}
	}
}

// zeroToOne replaces zeros by ones, so that constant columns are unchanged.
func zeroToOne(by []float32) {
	for j, v := range by {
		if v == 0 {
			by[j] = 1
		}
	}
}

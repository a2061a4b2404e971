package preprocess

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/exact"
)

// Clip is the recipe of x_j ↦ min(max(x_j, −At_j), At_j). It follows Standard, so that a few outliers do not dominate
// distances. A column whose At is 0, such as the numbers of a category, is unchanged. NaN stays NaN.
type Clip struct {
	At []float32 `json:"at"` // one per column, ≥ 0; 0 does not clip
}

// New returns the map.
func (r Clip) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	at := slices.Clone(r.At)
	return byColumns(len(at), func(first, n int) func(dst, x []float32) {
		at := at[first : first+n]
		return func(dst, x []float32) {
			dst, at := dst[:len(x)], at[:len(x)]
			for j, v := range x {
				switch a := at[j]; {
				case a == 0: // not clipped
				case v > a:
					v = a
				case v < -a:
					v = -a
				}
				dst[j] = v
			}
		}
	}), nil
}

// Validate returns an error that names the invalid field and column.
func (r Clip) Validate() error {
	if err := checkDim("Clip: at", len(r.At)); err != nil {
		return err
	}
	for j, a := range r.At {
		if !(a >= 0) || !exact.Finite(a) {
			return fmt.Errorf("scale: Clip: at of column %d must be ≥ 0 and finite (have %v)", j+1, a)
		}
	}
	return nil
}

// Dims implements features.Recipe.
func (r Clip) Dims() (in, out int) { return len(r.At), len(r.At) }

package preprocess

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
)

// Divide is the recipe of x ↦ x / By, with By rounded to float32. 255 maps bytes to the interval from 0 to
// 1.
type Divide struct {
	In int     `json:"in"` // row length
	By float64 `json:"by"` // > 0
}

// New returns the map.
func (r Divide) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	by := float32(r.By)
	return byColumns(r.In, func(int, int) func(dst, x []float32) {
		return func(dst, x []float32) {
			for j, v := range x {
				dst[j] = v / by
			}
		}
	}), nil
}

// Validate implements features.Recipe.
func (r Divide) Validate() error {
	if err := checkDim("Divide: in", r.In); err != nil {
		return err
	}
	if by := float32(r.By); !(by >= 0x1p-126 && by <= math.MaxFloat32) {
		return fmt.Errorf("scale: Divide: by must be a number > 0 within float32 (have %v)", r.By)
	}
	return nil
}

// Dims implements features.Recipe.
func (r Divide) Dims() (in, out int) { return r.In, r.In }

package preprocess

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/exact"
)

// MinMax is the recipe of x_j ↦ (x_j − Low_j) / (High_j − Low_j): columns are from 0 to 1 if Low and High
// are the extremes of the data. Nothing is clipped: values beyond them map to values beyond 0 and 1. A
// column with Low = High is divided by 1.
type MinMax struct {
	Low  []float32 `json:"low"`  // one per column
	High []float32 `json:"high"` // one per column, ≥ Low
}

// New returns the map.
func (r MinMax) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	low, span := slices.Clone(r.Low), make([]float32, len(r.Low))
	for j, h := range r.High {
		span[j] = h - low[j]
	}
	zeroToOne(span)
	return byColumns(len(low), shiftDivide(low, span)), nil
}

// Validate returns an error that names the invalid field and column.
func (r MinMax) Validate() error {
	if err := checkDim("MinMax: low", len(r.Low)); err != nil {
		return err
	}
	if len(r.High) != len(r.Low) {
		return fmt.Errorf("scale: MinMax: %d lows and %d highs; give one of each per column", len(r.Low), len(r.High))
	}
	for j, l := range r.Low {
		if h := r.High[j]; !exact.Finite(l) || !exact.Finite(h) || !(h >= l) || !exact.Finite(h-l) {
			return fmt.Errorf("scale: MinMax: low and high of column %d must be in order, and they and their difference "+
				"finite in float32 (have %v, %v)", j+1, l, h)
		}
	}
	return nil
}

// Dims implements features.Recipe.
func (r MinMax) Dims() (in, out int) { return len(r.Low), len(r.Low) }

package preprocess

import (
	"math"

	"github.com/bochner-ml/bochner/features"
)

// Unit is the recipe of x ↦ x / ‖x‖₂, so that every row has length 1. A row of zeros is unchanged.
//
// The squares are exact in float64 and are summed in the order of the columns. Each x_j is divided by the
// root in float64 and rounded to float32.
type Unit struct {
	In int `json:"in"` // row length
}

// New returns the map.
func (r Unit) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return &scaleMap{rowMap: rowMap{family: "scale", in: r.In, out: r.In, row: func(dst, x []float32) {
		unit(dst, x, len(x), 1)
	}}}, nil
}

// unit stores in dst n numbers of x, step apart, divided by the root of the sum of their squares. Zeros stay zeros.
func unit(dst, x []float32, n, step int) {
	var squares float64
	for j := range n {
		// The square of a float32 is exact in float64, so fusing it makes no difference.
		squares += float64(x[j*step]) * float64(x[j*step])
	}
	norm := math.Sqrt(squares)
	if norm == 0 {
		norm = 1
	}
	for j := range n {
		dst[j*step] = float32(float64(x[j*step]) / norm)
	}
}

// Validate returns an error if the row length is out of range.
func (r Unit) Validate() error { return checkDim("Unit: in", r.In) }

// Dims implements features.Recipe.
func (r Unit) Dims() (in, out int) { return r.In, r.In }

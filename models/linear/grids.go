package linear

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Grids are the grids of the targets of a regression, one per output; nil for classes. In JSON one grid is
// an object, several are an array.
type Grids []TargetGrid

// Validate returns an error unless all grids are valid.
func (g Grids) Validate() error {
	for c := range g {
		if err := g[c].Validate(); err != nil {
			if len(g) > 1 {
				return fmt.Errorf("target %d: %w", c+1, err)
			}
			return err
		}
	}
	return nil
}

// Append appends to dst the grid points nearest to y, which is row-major with a target for each grid.
func (g Grids) Append(dst []int32, y []float64) []int32 {
	for i, c := 0, 0; i < len(y); i++ {
		dst = append(dst, g[c].Quantize(y[i]))
		c++
		if c == len(g) {
			c = 0
		}
	}
	return dst
}

// Unscaled stores in dst the targets for scores. Both are row-major with a number for each grid.
func (g Grids) Unscaled(dst []float64, scores []float32) {
	for i, c := 0, 0; i < len(scores); i++ {
		dst[i] = g[c].Unscaled(scores[i])
		c++
		if c == len(g) {
			c = 0
		}
	}
}

// MarshalJSON returns an object for one grid, otherwise an array.
func (g Grids) MarshalJSON() ([]byte, error) {
	if len(g) == 1 {
		return json.Marshal(g[0])
	}
	return json.Marshal([]TargetGrid(g))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (g *Grids) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '{' {
		one := make(Grids, 1)
		*g = one
		return json.Unmarshal(data, &one[0])
	}
	return json.Unmarshal(data, (*[]TargetGrid)(g))
}

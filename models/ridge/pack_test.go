package ridge

import (
	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
)

// packBytes makes a block of features given on the grid.
func packBytes(v []int8, n, d int) *features.Grid {
	z := make([]float32, len(v))
	for i, b := range v {
		z[i] = float32(b)
	}
	block := features.NewGrid(d, features.ByteSteps)
	block.Quantize(z, n, blas.MaxByte, 1)
	return block
}

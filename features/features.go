// Package features defines what a feature map is, and the recipes that maps
// are made from. The maps themselves are in the packages below it.
package features

import (
	"github.com/bochner-ml/bochner/internal/blas"
)

// Map takes rows of `in` numbers to rows of `out` features.
type Map interface {
	// Dims returns the length of a row and the number of its features.
	Dims() (in, out int)
	// Apply stores in dst (n×out, row-major) the features of the n rows of x
	// (n×in, row-major). It is safe for concurrent use. It panics if a slice is
	// too short.
	Apply(dst, x []float32, n int)
}

// Gridded is a Map whose features have a bound, and so can be put on a grid of
// 8 bits: the feature z is represented by round(127·z/bound), and sums of
// products of such features are exact in any order.
type Gridded interface {
	Map
	// Quantize stores in dst the features of n ≤ blas.MaxRows rows on the grid,
	// computed by that many threads, and returns how many were out of bounds
	// and cut to ±127.
	Quantize(dst *blas.Bytes, x []float32, n, threads int) (saturated int64)
	// Step returns the size of one grid step: feature ≈ Step()·byte.
	Step() float64
}

// Recipe is the description of a map: a few numbers from which the map is drawn
// again, the same on every machine.
type Recipe interface {
	// New draws the map. The error names the field of the recipe that is wrong.
	New() (Map, error)
	// Kernel returns the kernel that inner products of features estimate:
	// E[φ(x)·φ(z)] over seeds.
	Kernel(x, z []float32) float64
}

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

// Hasher is a Map that hashes rows, too: rows that are alike have hashes that
// differ in few places.
type Hasher interface {
	Map
	// HashLen returns how many words the hash of a row takes.
	HashLen() int
	// Hash stores in dst (n×HashLen, row-major) the hashes of the n rows of x. It is
	// safe for concurrent use. It panics if a slice is too short.
	Hash(dst []uint64, x []float32, n int)
}

// Recipe is the description of a map: a few numbers from which the map is drawn
// again, the same on every machine.
type Recipe interface {
	// New draws the map. The error names the field of the recipe that is wrong.
	New() (Map, error)
	// Kernel returns the kernel that inner products of features estimate:
	// E[φ(x)·φ(z)] over seeds. It panics if the rows differ in length, and is
	// meaningless for a recipe that New refuses.
	Kernel(x, z []float32) float64
}

// Fixed is a Recipe whose map is not random: its kernel is the inner product of
// features itself. Scalings are of this kind.
type Fixed interface {
	Recipe
	// Fixed does nothing; to have it is the promise.
	Fixed()
}

// Validate returns the error that r.New would return, without drawing the map if
// r has a Validate method of its own.
func Validate(r Recipe) error {
	if v, ok := r.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	_, err := r.New()
	return err
}

// Kernel returns r.Kernel for use on many pairs of rows, by many goroutines: what the
// pairs have in common is worked out once if r has a Prepare method of its own.
func Kernel(r Recipe) func(x, z []float32) float64 {
	if p, ok := r.(interface {
		Prepare() (kernel func(x, z []float32) float64)
	}); ok {
		return p.Prepare()
	}
	return r.Kernel
}

// Dims returns the length of a row and the number of features of r's map,
// without drawing the map if r has a Dims method of its own.
func Dims(r Recipe) (in, out int, err error) {
	if err := Validate(r); err != nil {
		return 0, 0, err
	}
	if s, ok := r.(interface{ Dims() (in, out int) }); ok {
		in, out = s.Dims()
		return in, out, nil
	}
	m, err := r.New()
	if err != nil {
		return 0, 0, err
	}
	in, out = m.Dims()
	return in, out, nil
}

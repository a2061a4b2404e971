// Package features defines what a feature map is, and the recipes that maps
// are made from. The maps themselves are in the packages below it.
package features

import (
	"sync"
	"sync/atomic"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
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

// Gridded is a Map whose features can be put on a grid: the feature z is
// represented by a whole number of steps, and sums of products of such numbers are
// exact in any order. The grid has dst.Most() steps from 0 to the bound of the
// features: 127 are a grid of 8 bits.
type Gridded interface {
	Map
	// Quantize stores in dst the features of n ≤ MaxRows rows on the grid,
	// computed by that many threads, and returns how many were so far beyond the
	// bound that they were cut (see MaxSteps), or were NaN.
	Quantize(dst *Grid, x []float32, n, threads int) (saturated int64)
	// Step returns the size of one step of the grid of 8 bits, bound/127:
	// feature ≈ Step()·127/dst.Most()·number.
	Step() float64
}

// Ranged is a Gridded whose features have a grid each, from the middle of their
// range: feature j ≈ centre[j] + half[j]/dst.Most()·number.
type Ranged interface {
	Gridded
	// Ranges returns the middles of the features' ranges and half their lengths, which
	// are > 0. Step is of the longest. The caller does not change them.
	Ranges() (centre, half []float64)
}

// onGridRun is how many rows of a block have features in float32 at once; whole fours.
const onGridRun = 96

var onGridScratch sync.Pool // of *[]float32

// OnGrid is the Quantize of a map whose features have that bound, by way of their
// values in float32. It panics if x is too short, or dst of another width.
func OnGrid(m Map, dst *Grid, x []float32, n, threads int, bound float32) (saturated int64) {
	in, out := m.Dims()
	if n < 0 || n > blas.MaxRows || len(x) < n*in {
		panic("features: Quantize: slice too short, or too many rows")
	}
	if dst.D() != out {
		panic("features: Quantize: a block of another number of features")
	}
	dst.Resize(n)
	var cut atomic.Int64
	parallel.Ranges(n, onGridRun, threads, func(lo, hi int) {
		z, _ := onGridScratch.Get().(*[]float32)
		if z == nil {
			z = new([]float32)
		}
		defer onGridScratch.Put(z)
		if size := onGridRun * out; cap(*z) < size {
			*z = make([]float32, size)
		}
		for i := lo; i < hi; i += onGridRun {
			rows := min(onGridRun, hi-i)
			to := (*z)[:rows*out]
			m.Apply(to, x[i*in:], rows)
			cut.Add(dst.QuantizeRows(i, to, rows, bound))
		}
	})
	return cut.Load()
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

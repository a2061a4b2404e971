package features

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// Map maps rows of `in` values to rows of `out` features.
type Map interface {
	// Dims returns the length of a row and the number of its features.
	Dims() (in, out int)
	// Apply stores in dst (n×out, row-major) the features of the n rows of x
	// (n×in, row-major). It is safe for concurrent use. It panics if a slice is
	// too short.
	Apply(dst, x []float32, n int)
}

// MissingTaker is a Map to which NaN in a row may mean a missing value.
type MissingTaker interface {
	Map
	// TakesMissing reports whether it does.
	TakesMissing() bool
}

// TakesMissing reports whether NaN in a row means a missing value to m. It does if m is, or begins with, a
// map of package preprocess that fills in missing values.
func TakesMissing(m Map) bool {
	t, ok := m.(MissingTaker)
	return ok && t.TakesMissing()
}

// Gridded is a Map whose features can be quantized to a grid: a feature z becomes a whole number of steps,
// so sums of products are exact in any order. The grid has dst.Steps() steps from 0 to the bound of the
// features; with 127 steps it is an 8-bit grid.
type Gridded interface {
	Map
	// Quantize stores in dst the features of n ≤ MaxRows rows on the grid, computed by up to threads goroutines.
	// It returns the number of features that were NaN, or were clipped because they were too far beyond the
	// bound (see MaxSteps).
	Quantize(dst *Grid, x []float32, n, threads int) (saturated int64)
	// Step returns the size of one step of the 8-bit grid, bound/127:
	// feature ≈ Step()·127/dst.Steps()·number.
	Step() float64
}

// Ranged is a Gridded map in which each feature has its own grid, centred in its
// range: feature j ≈ centre[j] + half[j]/dst.Steps()·number.
type Ranged interface {
	Gridded
	// Ranges returns the centres and half lengths (> 0) of the features' ranges. Step is for the longest
	// range among features that are rounded, 0 if all are points of their grids. The caller must not change
	// the slices.
	Ranges() (centre, half []float64)
	// Wide reports whether features may lie anywhere in long ranges, for which an 8-bit grid is too coarse.
	Wide() bool
}

// Wide reports whether m is Ranged and its features are wide.
func Wide(m Map) bool {
	r, ok := m.(Ranged)
	return ok && r.Wide()
}

// onGridRun is the number of rows whose features are in float32 together; a multiple of 4.
const onGridRun = 96

var onGridScratch sync.Pool // of *[]float32

// OnGrid implements Quantize for a map whose features have the given bound, by applying the map in float32.
// It panics if x is too short or dst has a different width.
func OnGrid(m Map, dst *Grid, x []float32, n, threads int, bound float32) (saturated int64) {
	in, out := m.Dims()
	if n < 0 || n > blas.MaxRows || len(x) < n*in {
		panic("features: Quantize: slice too short, or too many rows")
	}
	if dst.D() != out {
		panic("features: Quantize: the grid has a different number of features")
	}
	dst.Resize(n)
	var count atomic.Int64
	parallel.Ranges(n, onGridRun, threads, func(lo, hi int) {
		z, _ := onGridScratch.Get().(*[]float32)
		if z == nil {
			z = new([]float32)
		}
		defer onGridScratch.Put(z)
		for i := lo; i < hi; i += onGridRun {
			rows := min(onGridRun, hi-i)
			to := blas.Grow(z, onGridRun*out)[:rows*out]
			m.Apply(to, x[i*in:], rows)
			count.Add(dst.QuantizeRows(i, to, rows, bound))
		}
	})
	return count.Load()
}

// Hasher is a Map that also hashes rows, so that the hashes of similar rows differ in few places.
type Hasher interface {
	Map
	// HashLen returns the number of words of a row's hash.
	HashLen() int
	// Hash stores in dst (n×HashLen, row-major) the hashes of the n rows of x. It is
	// safe for concurrent use. It panics if a slice is too short.
	Hash(dst []uint64, x []float32, n int)
}

// Recipe describes a map by a few numbers, from which the same map can be drawn on every machine. Its kernel is
// the inner product of features, unless it is Random.
type Recipe interface {
	// Validate returns an error that names the invalid field.
	Validate() error
	// Dims returns the length of a row and the number of features. The recipe must be valid.
	Dims() (in, out int)
	// New draws the map. It fails if the recipe is not valid, or if a file that it refers to is missing.
	New() (Map, error)
}

// Random is a Recipe of random features, whose inner products estimate a kernel.
type Random interface {
	Recipe
	// Kernel returns the kernel: E[φ(x)·φ(z)] over seeds. It panics if the rows differ in length, and is
	// meaningless for a recipe that is not valid.
	Kernel(x, z []float32) float64
}

// KernelPreparer is a Recipe that computes its kernel for many pairs of rows faster than pair by pair.
type KernelPreparer interface {
	Recipe
	// PrepareKernel returns the kernel. The function is safe for concurrent use.
	PrepareKernel() (func(x, z []float32) float64, error)
}

// Kernel returns the kernel of r, for many pairs of rows. The function is safe for concurrent use. It panics if
// the rows differ in length. Unless r is Random, Kernel returns an error if New does.
func Kernel(r Recipe) (func(x, z []float32) float64, error) {
	switch r := r.(type) {
	case KernelPreparer:
		return r.PrepareKernel()
	case Random:
		return r.Kernel, nil
	}
	m, err := r.New()
	if err != nil {
		return nil, err
	}
	return func(x, z []float32) (sum float64) {
		if len(x) != len(z) {
			panic("features: Kernel of rows of different lengths")
		}
		fx, fz := mapped(m, x, z)
		for i, v := range fx {
			// The product of two float32 is exact in float64, so fusing it makes no difference.
			sum += float64(v) * float64(fz[i])
		}
		return sum
	}, nil
}

// mapped returns the features of two rows.
func mapped(m Map, x, z []float32) (fx, fz []float32) {
	_, out := m.Dims()
	fx, fz = make([]float32, out), make([]float32, out)
	m.Apply(fx, x, 1)
	m.Apply(fz, z, 1)
	return fx, fz
}

// Dims returns the length of a row and the number of features of r's map, or the error of an invalid recipe.
func Dims(r Recipe) (in, out int, err error) {
	if err = r.Validate(); err != nil {
		return 0, 0, err
	}
	in, out = r.Dims()
	return in, out, nil
}

// Overflows counts the NaN features of the n rows of x. It is for maps of cosines that quantize without
// computing float32 features and store 0 for NaN. Only rows with a value beyond limit can have NaN features
// (see AngleLimit), so checking other rows is cheap.
func Overflows(m Map, x []float32, n int, limit float32) (count int64) {
	in, out := m.Dims()
	var z []float32
	for i := range n {
		row := x[i*in : (i+1)*in]
		within := true
		for _, v := range row {
			within = within && v <= limit && v >= -limit // false for NaN
		}
		if within {
			continue
		}
		if z == nil {
			z = make([]float32, out)
		}
		m.Apply(z, row, 1)
		for _, v := range z {
			if math.IsNaN(float64(v)) {
				count++
			}
		}
	}
	return count
}

// AngleLimit returns a bound on |x_j| below which no angle W·x + b overflows float32. w is W, with in values
// per row.
func AngleLimit(w []float32, in int) float32 {
	var largest float64
	for _, v := range w {
		largest = max(largest, math.Abs(float64(v)))
	}
	return float32(min(math.MaxFloat32, math.MaxFloat32/4/(float64(largest*float64(in))+1)))
}

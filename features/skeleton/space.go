package skeleton

import (
	"errors"
	"fmt"
	"math"
)

// MaxCategories is the largest number of categories of a column.
const MaxCategories = 1 << 16

// Space is the base space of an input node: the meaning of its columns, with a kernel and a random feature.
// It is given by exactly one of its fields.
type Space struct {
	// Circle is the period p > 0 of a column that is an angle: x stands for the angle θ = 2πx/p, the kernel
	// is cos(θ − θ'), the feature e^{±iθ}. For columns from 0 to 1 use p = 2, so that 0 and 1 are opposite
	// points of the circle; for angles in radians 2π.
	Circle float64 `json:"circle,omitempty"`
	// Binary is a column of signs: +1 where x > 0, else −1. The kernel is their
	// product, the feature the sign itself.
	Binary bool `json:"binary,omitempty"`
	// Categorical is the number n of categories of a column, 2 to MaxCategories:
	// the integer nearest to x, modulo n. The kernel is 1 for equal categories and 0
	// for others, the feature e^{2πiωx/n} with ω uniform below n. (The paper prints e^{iωx/2πn}.)
	Categorical int `json:"categorical,omitempty"`
	// Gaussian is the width σ > 0 of the kernel exp(−‖x−x'‖²/2σ²) on the columns,
	// the feature e^{iω·x} with ω ~ N(0, σ⁻²I).
	Gaussian float64 `json:"gaussian,omitempty"`
	// Sphere is the random feature for columns that are a vector of length 1, or "". The kernel is the inner
	// product.
	Sphere Scheme `json:"sphere,omitempty"`
}

// Scheme is a random feature of the inner product on the sphere of R^d.
type Scheme string

const (
	// Pairs uses √(d/2)(x_j ± i·x_{j+1}), with cyclic indices, d ≥ 2. Its bound √(d/2) is the least of any
	// feature (Theorem 6 of the paper).
	Pairs Scheme = "pairs"
	// Coordinates uses √d·x_j, which is bounded by √d.
	Coordinates Scheme = "coordinates"
	// Projection uses √d·⟨w, x⟩ with w uniform on the sphere, which is bounded by √d. All features differ,
	// so none can be merged.
	Projection Scheme = "projection"
)

// Validate returns an error unless exactly one field is given and in range.
func (s Space) Validate() error {
	given := 0
	for _, g := range []bool{s.Circle != 0, s.Binary, s.Categorical != 0, s.Gaussian != 0, s.Sphere != ""} {
		if g {
			given++
		}
	}
	switch {
	case given == 0:
		return errors.New("space: none; give one of circle (its period), binary, categorical (how many), gaussian (its " +
			"width), sphere (pairs, coordinates or projection)")
	case given > 1:
		return errors.New("space: more than one of circle, binary, categorical, gaussian, sphere; give one")
	case s.Circle != 0 && !float32Normal(s.Circle):
		return fmt.Errorf("space: circle: the period must be > 0 and within float32 (have %v)", s.Circle)
	case s.Categorical != 0 && (s.Categorical < 2 || s.Categorical > MaxCategories):
		return fmt.Errorf("space: categorical: the categories must be 2 to %d (have %d)", MaxCategories, s.Categorical)
	case s.Gaussian != 0 && !float32Normal(s.Gaussian):
		return fmt.Errorf("space: gaussian: the width must be > 0 and within float32 (have %v)", s.Gaussian)
	}
	switch s.Sphere {
	case "", Pairs, Coordinates, Projection:
		return nil
	}
	return fmt.Errorf("space: sphere: unknown scheme %q; have pairs, coordinates, projection", s.Sphere)
}

// float32Normal reports whether v is positive and a normal float32 number.
func float32Normal(v float64) bool {
	f := float32(v)
	return f >= 0x1p-126 && f <= math.MaxFloat32
}

// vector reports whether a node of this space may have several columns.
func (s Space) vector() bool { return s.Gaussian != 0 || s.Sphere != "" }

// checkColumns returns an error unless a node of this space can have n columns.
func (s Space) checkColumns(n int) error {
	switch {
	case n == 0:
		return errors.New("has a space but no columns; list those it reads")
	case !s.vector() && n != 1:
		return fmt.Errorf("reads %d columns; a circle, binary or categorical node reads one", n)
	case s.Sphere == Pairs && n < 2:
		return errors.New("a sphere of pairs takes 2 columns or more; for one column take binary")
	}
	return nil
}

// linear reports whether the kernel is an inner product of d numbers computed from the columns: cosine and
// sine of the angle, the sign, or the columns.
func (s Space) linear() bool { return s.Circle != 0 || s.Binary || s.Sphere != "" }

// kernel returns the base kernel between the rows x and z on the columns.
func (s Space) kernel(x, z []float32, columns []int32) float64 {
	switch {
	case s.Circle != 0:
		c := columns[0]
		return math.Cos(2 * math.Pi * (float64(x[c]) - float64(z[c])) / float64(float32(s.Circle)))
	case s.Binary:
		if (x[columns[0]] > 0) == (z[columns[0]] > 0) {
			return 1
		}
		return -1
	case s.Categorical != 0:
		a, okA := categoryOf(x[columns[0]], s.Categorical)
		b, okB := categoryOf(z[columns[0]], s.Categorical)
		switch {
		case !okA || !okB:
			return math.NaN()
		case a == b:
			return 1
		}
		return 0
	case s.Gaussian != 0:
		var squares float64
		for _, c := range columns {
			d := float64(x[c]) - float64(z[c])
			squares += float64(d * d)
		}
		return math.Exp(-squares / (2 * s.Gaussian * s.Gaussian))
	}
	var dot float64
	for _, c := range columns {
		dot += float64(float64(x[c]) * float64(z[c]))
	}
	return dot
}

// categoryOf returns the category of a column, below n. ok is false for NaN and infinity.
func categoryOf(x float32, n int) (c int, ok bool) {
	r := math.Mod(math.RoundToEven(float64(x)), float64(n)) // exact
	if math.IsNaN(r) {
		return 0, false
	}
	if r < 0 {
		r += float64(n)
	}
	return int(r), true
}

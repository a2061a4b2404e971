package kernel

import (
	"errors"
	"fmt"
	"math"
	"sort"
)

// largest is the largest number of features that Features returns.
const largest = 1 << 40

// Pairs bounds the errors of a given number of pairs of rows together, by the union bound.
type Pairs struct {
	Paired bool // the form of the features
	Pairs  int64
}

// Uniform bounds the errors of all pairs of rows in a region together:
//
//	|φ(x)·φ(z) − K(x, z)| < ε   for all x, z in a region of diameter ℓ.
//
// The error f is a function of x−z, in a ball of R^d of radius ℓ, in the paired form;
// in the offset form it is a function of (x, z), in a ball of R^2d whose radius is
// also at most ℓ (Jung 1901). A ball of radius ℓ in R^m is covered by (4ℓ/r)^m balls of radius r ≤ 2ℓ. If
// |f| < ε/2 at their centres and f has a Lipschitz constant L < ε/2r, it is below ε
// everywhere. Hoeffding's inequality with ε/2 bounds the centres and Markov's bounds
// L: with σ² = E‖ω‖², L is at most the mean of ‖ω_j‖ (in the offset form of 2‖ω_j‖) plus
// E‖ω‖ (√2 E‖ω‖), so E L² ≤ 4σ² ((2+√2)²σ²). So for every r
//
//	P ≤ 2 (4ℓ/r)^m exp(−Dε²/16) + 4 (r/ε)² E L²            paired, m = d
//	P ≤ 2 (4ℓ/r)^m exp(−Dε²/32) + 4 (r/ε)² E L²            offset, m = 2d
//
// The minimum over r, at r^(m+2) = m/2 times the quotient of the two factors, falls with exp(−Dε²/(8(d+2)))
// in the paired form and exp(−Dε²/(32(d+1))) in the offset form. These are the exponents of Sutherland and
// Schneider ("On the Error of Random Fourier Features", 2015), who improve on Rahimi and Recht (2007, Claim
// 1). The leading factors are somewhat larger than theirs, because L is taken at its maximum. That point
// depends on the frequencies, so E‖∇f‖² at a fixed point does not bound it.
type Uniform struct {
	Paired   bool
	Dim      int     // d, the length of rows
	Diameter float64 // ℓ, of the region
	Moment   float64 // σ² = E‖ω‖² of the frequencies (SecondMoment of the recipe)
}

// logFailure returns the logarithm of a bound on the probability that D features have an error of ε or
// more. It decreases in both.
func (p Pairs) logFailure(features, epsilon float64) float64 {
	width := 4.0
	if !p.Paired {
		width = 8
	}
	return math.Ln2 + math.Log(float64(p.Pairs)) - features*epsilon*epsilon/width
}

func (u Uniform) logFailure(features, epsilon float64) float64 {
	m, width, lipschitz := float64(u.Dim), 16.0, 4.0
	if !u.Paired {
		m, width, lipschitz = 2*m, 32, 6+4*math.Sqrt2
	}
	centres := math.Ln2 + m*math.Log(4*u.Diameter) - features*epsilon*epsilon/width // − m ln r
	slope := math.Log(4*lipschitz*u.Moment) - 2*math.Log(epsilon)                   // + 2 ln r
	r := min((math.Log(m/2)+centres-slope)/(m+2), math.Log(2*u.Diameter))
	a, b := centres-m*r, slope+2*r
	return max(a, b) + math.Log1p(math.Exp(-math.Abs(a-b)))
}

func (p Pairs) validate() error {
	if p.Pairs < 1 {
		return fmt.Errorf("kernel: pairs must be > 0 (have %d)", p.Pairs)
	}
	return nil
}

func (u Uniform) validate() error {
	switch {
	case u.Dim < 1:
		return fmt.Errorf("kernel: row length must be > 0 (have %d)", u.Dim)
	case !(u.Diameter > 0) || math.IsInf(u.Diameter, 1):
		return fmt.Errorf("kernel: diameter must be > 0 and finite (have %v)", u.Diameter)
	case math.IsInf(u.Moment, 1):
		return errors.New("kernel: the frequencies of this kernel have no second moment (Laplace, exponential, and " +
			"Matérn up to nu 1), so the uniform bound does not apply; use the bound of pairs")
	case !(u.Moment > 0):
		return fmt.Errorf("kernel: second moment must be > 0 (have %v)", u.Moment)
	}
	return nil
}

// Bound is implemented by Pairs and Uniform.
type Bound interface {
	logFailure(features, epsilon float64) float64
	validate() error
}

// Features returns the least number of features whose errors are below ε with probability at least 1−δ.
func Features(b Bound, epsilon, delta float64) (int, error) {
	if err := errors.Join(b.validate(), check(epsilon, delta)); err != nil {
		return 0, err
	}
	n := 1 + sort.Search(largest, func(n int) bool { return b.logFailure(float64(n+1), epsilon) <= math.Log(delta) })
	if n > largest {
		return 0, fmt.Errorf("kernel: more than %d features; raise epsilon", largest)
	}
	return n, nil
}

// Epsilon returns the error ε that D features do not reach with probability at least 1−δ.
func Epsilon(b Bound, features int, delta float64) (float64, error) {
	if features < 1 {
		return 0, fmt.Errorf("kernel: features must be > 0 (have %d)", features)
	}
	if err := errors.Join(b.validate(), check(1, delta)); err != nil {
		return 0, err
	}
	low, high := 0.0, 1.0
	holds := func(epsilon float64) bool { return b.logFailure(float64(features), epsilon) <= math.Log(delta) }
	for !holds(high) {
		low, high = high, 2*high
		if math.IsInf(high, 1) {
			return high, nil
		}
	}
	for range 60 {
		if mid := low + (high-low)/2; holds(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high, nil
}

func check(epsilon, delta float64) error {
	if !(epsilon > 0) || math.IsInf(epsilon, 1) {
		return fmt.Errorf("kernel: epsilon must be > 0 and finite (have %v)", epsilon)
	}
	if !(delta > 0 && delta < 1) {
		return fmt.Errorf("kernel: delta must be between 0 and 1 (have %v)", delta)
	}
	return nil
}

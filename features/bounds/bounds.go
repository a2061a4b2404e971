// Package bounds tells how many random Fourier features are enough for inner
// products of features to be within ε of the kernel with probability 1−δ. The
// bounds hold for any data, and are far above what learning needs; they are an upper end.
package bounds

import (
	"errors"
	"fmt"
	"math"
)

// Largest is the largest number of features the package returns.
const Largest = 1 << 40

// Uniform returns the number of features D for which
//
//	|φ(x)·φ(z) − K(x, z)| < ε   for all x, z of a region at once
//
// with probability at least 1−δ. The region, in R^d, has the given diameter;
// moment is E‖ω‖² of the kernel's frequencies (SecondMoment of its recipe).
//
//	D ≥ (4(d+2)/ε²) · ln(2⁸ E‖ω‖² diameter² / (ε²δ))       (Rahimi & Recht 2007, Claim 1)
//
// The error is an argument out of range, or an infinite moment, for which the
// bound says nothing.
func Uniform(epsilon, delta float64, d int, diameter, moment float64) (int, error) {
	if err := check(epsilon, delta); err != nil {
		return 0, err
	}
	if err := checkRegion(d, diameter, moment); err != nil {
		return 0, err
	}
	return enough(4 * float64(d+2) / (epsilon * epsilon) * logRatio(epsilon, delta, diameter, moment))
}

// Failure returns the bound on the probability that D features are somewhere
// in the region off by ε or more, at most 1:
//
//	2⁸ E‖ω‖² diameter²/ε² · exp(−Dε²/(4(d+2)))             (Rahimi & Recht 2007, Claim 1)
//
// The errors are those of Uniform.
func Failure(features int, epsilon float64, d int, diameter, moment float64) (float64, error) {
	if features < 1 {
		return 0, fmt.Errorf("bounds: features must be > 0 (have %d)", features)
	}
	if err := check(epsilon, 0.5); err != nil {
		return 0, err
	}
	if err := checkRegion(d, diameter, moment); err != nil {
		return 0, err
	}
	return min(1, math.Exp(logRatio(epsilon, 1, diameter, moment)-float64(features)*epsilon*epsilon/(4*float64(d+2)))), nil
}

// Pointwise returns the number of independent draws for which the estimate is
// within ε of the kernel at one given pair of rows, with probability at least
// 1−δ, where a draw contributes a product of two numbers of magnitude at most c:
//
//	D ≥ (2c⁴/ε²) · ln(2/δ)                                 (Hoeffding; Daniely et al., "Random features for compositional kernels", 2017, Thm. 3)
//
// In the offset form a draw is one feature and c = √2. In the paired form a draw
// is a pair of features and c = 1, so the features are twice the draws.
func Pointwise(epsilon, delta, c float64) (int, error) {
	if err := check(epsilon, delta); err != nil {
		return 0, err
	}
	if !(c > 0) || math.IsInf(c, 1) {
		return 0, fmt.Errorf("bounds: the bound of a feature must be > 0 and finite (have %v)", c)
	}
	return enough(2 * c * c * c * c / (epsilon * epsilon) * math.Log(2/delta))
}

func check(epsilon, delta float64) error {
	if !(epsilon > 0) || math.IsInf(epsilon, 1) {
		return fmt.Errorf("bounds: epsilon must be > 0 and finite (have %v)", epsilon)
	}
	if !(delta > 0 && delta < 1) {
		return fmt.Errorf("bounds: delta must be between 0 and 1 (have %v)", delta)
	}
	return nil
}

func checkRegion(d int, diameter, moment float64) error {
	switch {
	case d < 1:
		return fmt.Errorf("bounds: row length must be > 0 (have %d)", d)
	case !(diameter > 0) || math.IsInf(diameter, 1):
		return fmt.Errorf("bounds: diameter must be > 0 and finite (have %v)", diameter)
	case math.IsInf(moment, 1):
		return errors.New("bounds: the frequencies of this kernel have no second moment (Laplace, and Matérn up to nu 1), so no uniform bound holds; use the pointwise one")
	case !(moment > 0):
		return fmt.Errorf("bounds: second moment must be > 0 (have %v)", moment)
	}
	return nil
}

// logRatio returns ln(2⁸ E‖ω‖² diameter² / (ε²δ)), in logarithms, for the squares may overflow.
func logRatio(epsilon, delta, diameter, moment float64) float64 {
	return 8*math.Ln2 + math.Log(moment) + 2*math.Log(diameter) - 2*math.Log(epsilon) - math.Log(delta)
}

// enough rounds a real bound up to a number of features, at least 1.
func enough(bound float64) (int, error) {
	if !(bound <= Largest) {
		return 0, fmt.Errorf("bounds: more than %d features; raise epsilon", Largest)
	}
	return max(1, int(math.Ceil(bound))), nil
}

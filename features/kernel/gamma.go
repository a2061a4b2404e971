package kernel

import (
	"fmt"
	"math"
)

// FromGamma returns the width σ of the kernel with the given γ: 1/√(2γ) for
// exp(−γ‖x−z‖₂²), 1/γ for exp(−γ‖x−z‖₁). It returns an error unless γ is positive and finite.
func FromGamma(gamma float64, distance Distance) (float64, error) {
	if !(gamma > 0) || math.IsInf(gamma, 1) {
		return 0, fmt.Errorf("bandwidth: gamma must be > 0 and finite (have %v)", gamma)
	}
	if distance == L1 {
		return 1 / gamma, nil
	}
	return 1 / math.Sqrt(2*gamma), nil
}

// ScaleWidth returns the width of scikit-learn's gamma="scale", γ = 1/(d·Var X) of the
// Gaussian kernel: σ = √(d·variance/2), where variance is taken over all values of all
// rows. It returns an error unless variance is positive and finite.
func ScaleWidth(d int, variance float64) (float64, error) {
	if d < 1 {
		panic("bandwidth: row length below 1")
	}
	if !(variance > 0) || math.IsInf(variance, 1) {
		return 0, fmt.Errorf(
			"bandwidth: the variance of the data must be > 0 and finite (have %v); give the width as a number",
			variance)
	}
	return math.Sqrt(float64(d) * variance / 2), nil
}

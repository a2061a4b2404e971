package bandwidth

import (
	"fmt"
	"math"
)

// FromGamma returns the width σ of the kernel whose γ is given: 1/√(2γ) for
// exp(−γ‖x−z‖₂²), 1/γ for exp(−γ‖x−z‖₁). The error is a γ that is not a number > 0.
func FromGamma(gamma float64, distance Distance) (float64, error) {
	if !(gamma > 0) || math.IsInf(gamma, 1) {
		return 0, fmt.Errorf("bandwidth: gamma must be > 0 and finite (have %v)", gamma)
	}
	if distance == L1 {
		return 1 / gamma, nil
	}
	return 1 / math.Sqrt(2*gamma), nil
}

// Gamma returns the γ of the kernel of width σ > 0: 1/(2σ²) for
// exp(−γ‖x−z‖₂²), 1/σ for exp(−γ‖x−z‖₁).
func Gamma(width float64, distance Distance) float64 {
	if distance == L1 {
		return 1 / width
	}
	return 1 / (2 * width * width)
}

// Scale returns the width of scikit-learn's gamma="scale", γ = 1/(d·Var X) of the
// Gaussian kernel: σ = √(d·variance/2), variance that of all numbers of all rows taken
// together. The error is a variance that is not a number > 0.
func Scale(d int, variance float64) (float64, error) {
	if d < 1 {
		panic("bandwidth: row length below 1")
	}
	if !(variance > 0) || math.IsInf(variance, 1) {
		return 0, fmt.Errorf("bandwidth: the variance of the data must be > 0 and finite (have %v); give the width as a number", variance)
	}
	return math.Sqrt(float64(d) * variance / 2), nil
}

package loss

import (
	"math"
	"slices"
)

// softmax returns log Σ_c exp(s_c − s_y), and in slopes, unless nil, the
// probabilities less the indicator of class y.
func softmax(slopes, scores []float32, y int) float64 {
	top := float64(slices.Max(scores))
	var sum float64
	for _, s := range scores {
		sum += Exp(float64(s) - top)
	}
	if slopes != nil {
		for c, s := range scores {
			slopes[c] = float32(Exp(float64(s)-top) / sum)
		}
		// 1 − p by the others, which loses nothing where p is near 1.
		var others float64
		for c, p := range slopes {
			if c != y {
				others += float64(p)
			}
		}
		slopes[y] = float32(-others)
	}
	return (top - float64(scores[y])) + Log(sum)
}

// SoftmaxConjugate returns the conjugate of the softmax loss of class y,
// Σ p_c log p_c for p = u + e_y on the simplex and +Inf elsewhere, which is where
// a p is negative or their sum is further than tol from 1.
func SoftmaxConjugate(y int, u []float64, tol float64) float64 {
	var sum, value float64
	for c, p := range u {
		if c == y {
			p++
		}
		if p < 0 {
			return math.Inf(1)
		}
		sum += p
		value += entropy(p)
	}
	if math.Abs(sum-1) > tol {
		return math.Inf(1)
	}
	return value
}

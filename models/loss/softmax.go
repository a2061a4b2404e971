package loss

import (
	"slices"

	"github.com/bochner-ml/bochner/internal/blas"
)

// SoftmaxFactors are multiplied with the scores of a classifier before their softmax, to find the best factor.
// Scores of ridge are between −1 and 1 even where a class is certain, so their plain softmax would be far from
// probabilities. The best factor is a calibration with one parameter.
var SoftmaxFactors = [...]float64{0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}

// softmax returns log Σ_c exp(s_c − s_y). Unless slopes is nil, it stores the probabilities minus the
// indicator of class y there.
func softmax(slopes, scores []float32, y int) float64 {
	top := float64(slices.Max(scores))
	sum := SumExp(scores, top, 1)
	if slopes != nil {
		for c, s := range scores {
			slopes[c] = float32(blas.Exp(float64(s)-top) / sum)
		}
		// Compute 1 − p from the other classes, which is accurate even if p is near 1.
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

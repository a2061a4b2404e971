package loss

import "slices"

// softmax returns log Σ_c exp(s_c − s_y). Unless slopes is nil, it stores the probabilities minus the
// indicator of class y there.
func softmax(slopes, scores []float32, y int) float64 {
	top := float64(slices.Max(scores))
	sum := SumExp(scores, top, 1)
	if slopes != nil {
		for c, s := range scores {
			slopes[c] = float32(Exp(float64(s)-top) / sum)
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

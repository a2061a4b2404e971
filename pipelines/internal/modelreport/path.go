package modelreport

import (
	"fmt"

	"github.com/bochner-ml/bochner/models/ridge"
)

// Edge returns a note if the best λ is the first or last that was tried. Below least, rounding of features
// changes the effect of λ; least is 0 if it does not.
func Edge(path []ridge.CVResult, chosen, least float64) string {
	low, high := chosen, chosen
	for _, row := range path {
		low, high = min(low, row.Lambda), max(high, row.Lambda)
	}
	switch {
	case len(path) < 2: // no other was tried
	case chosen == low && chosen <= least: // training.gridNotes has a note on it
	case chosen == low && chosen/10 < least:
		return fmt.Sprintf("%g is the smallest lambda that was tried: below it, the rounding of features matters; --lambda "+
			"accepts smaller ones", chosen)
	case chosen == low && chosen > 0:
		return fmt.Sprintf("%g is the smallest lambda that was tried; a smaller one may do better", chosen)
	case chosen == high:
		return fmt.Sprintf("%g is the largest lambda that was tried; a larger one may do better", chosen)
	}
	return ""
}

// OnFirst replaces the held-out figures of each λ by the figures of the first fold, whose targets have the given
// variances.
func OnFirst(path []ridge.CVResult, variance []float64) {
	for i := range path {
		r := &path[i]
		if r.Failed != "" {
			continue
		}
		r.MSE, r.StdErr, r.Folds, r.R2 = r.FoldMSE, 0, 1, 0
		switch {
		case len(variance) > 1: // MSE is relative to the variance
			r.R2 = 1 - r.FoldMSE
		case len(variance) == 1 && variance[0] > 0:
			r.R2 = 1 - r.FoldMSE/variance[0]
		}
	}
}

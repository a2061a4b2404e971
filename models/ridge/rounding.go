package ridge

// Rounding features to a grid acts like adding LambdaFloor to λ, and like noise of variance CVResult.Rounding in the
// targets. Neither matters if λ was chosen among smaller and larger values and the noise is a small part of
// the error.

const (
	// FloorFactor times LambdaFloor is a λ large enough that rounding of features hardly affects it, whatever the
	// data.
	FloorFactor = 10

	// MaxRounding is the largest share of the error that may come from rounding before a finer grid is
	// used. On letters, with a share of 2%, 16 bits lowered the error on new rows from 4.13% to 4.00%; on
	// friedman without noise, with 9%, 1 − R² from 0.00082 to 0.00071.
	MaxRounding = 0.025
)

// TooCoarse reports whether rows should be summed again on a finer grid. table holds the results of a
// choice of lambda; it is empty if lambda was given. coarseBelow is FloorFactor·Floor of the present grid. A finer
// grid is needed if lambda is at most coarseBelow, and either a smaller one may be better or rounding is too large
// a part of the error.
func TooCoarse(table []CVResult, lambda, coarseBelow float64) bool {
	if lambda > coarseBelow {
		return false
	}
	var row, below *CVResult // row of lambda, and of the largest λ below it
	for i := range table {
		switch r := &table[i]; {
		case r.Failed != "":
		case r.Lambda == lambda:
			row = r
		case r.Lambda < lambda && (below == nil || r.Lambda > below.Lambda):
			below = r
		}
	}
	return row == nil || below == nil || row.Rounding > MaxRounding*row.MSE || below.unrounded() < row.unrounded()
}

// unrounded estimates the error with features that are not rounded: on the first fold if it has rows,
// because all values have been tried on it.
func (r *CVResult) unrounded() float64 {
	if r.FoldMSE > 0 {
		return r.FoldMSE - r.Rounding
	}
	return r.MSE - r.Rounding
}

package ridge

// Rounding features to a grid acts like a λ of Floor beside λ, and like noise of the targets of
// variance Row.Rounding: the weights are those for rows that are moved by a part of a step. Neither
// matters where λ has been chosen among smaller and larger values and the noise is a small part of
// the error.

const (
	// FloorFactor times Floor is the least λ that the rounding of features hardly affects, whatever the data.
	FloorFactor = 10

	// MostRounding is the largest share of the error that is rounding, for a grid to be fine enough
	// for a smaller λ. On letters, with a share of 2%, 16 bits lowered the error on new rows from
	// 4.13 to 4.00%; on friedman without noise, with 9%, 1 − R² from 0.00082 to 0.00071.
	MostRounding = 0.025
)

// TooCoarse tells whether rows should be summed on a finer grid than in a choice of lambda,
// with its table; without a table lambda is given. finer is FloorFactor·Floor of the grid. A finer
// grid is needed where λ is no larger than that and a smaller one may be better, or rounding is too
// large a part of its error.
func TooCoarse(table []Row, lambda, finer float64) bool {
	if lambda > finer {
		return false
	}
	var own, below *Row // the largest λ below
	for i := range table {
		switch r := &table[i]; {
		case r.Failed != "":
		case r.Lambda == lambda:
			own = r
		case r.Lambda < lambda && (below == nil || r.Lambda > below.Lambda):
			below = r
		}
	}
	return own == nil || below == nil || own.Rounding > MostRounding*own.MSE || below.unrounded() < own.unrounded()
}

// unrounded estimates the error of features that are not rounded, on the first fold if that has
// rows: all values have been tried on it.
func (r *Row) unrounded() float64 {
	if r.FoldMSE > 0 {
		return r.FoldMSE - r.Rounding
	}
	return r.MSE - r.Rounding
}

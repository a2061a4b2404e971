package preprocess

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
)

const (
	// hatNorm is the largest norm of the hats of a row, for use next to kernels whose features have norm 1.
	hatNorm     = 0.3
	MaxBinKnots = 32 // largest number of knots of a column
	fewKnots    = 4  // least number
)

// NewPiecewiseLinear returns piecewise-linear columns (hats) for the columns of x, n rows of d numbers: up to 32 hats
// for each column, and at most limit for all. The knots of a column are its distinct values, or quantiles if
// there are more values than knots. A column that would not have three distinct knots, such as a nearly
// constant one, has none. NewPiecewiseLinear returns nil if no column has hats, or if limit is less than four for each
// column that would.
func NewPiecewiseLinear(x []float32, n, d, limit int) *Bins {
	values := make([]float32, n)
	column := func(j, knots int) features.Floats {
		for i := range values {
			values[i] = x[i*d+j]
		}
		slices.Sort(values)
		return hatKnots(values, knots)
	}
	var columns []int
	for j := range d {
		if len(column(j, 3)) == 3 {
			columns = append(columns, j)
		}
	}
	knots := min(MaxBinKnots, limit/max(len(columns), 1))
	if len(columns) == 0 || knots < fewKnots {
		return nil
	}
	r := &Bins{In: d, PiecewiseLinear: true}
	for _, j := range columns {
		if cuts := column(j, knots); len(cuts) > 1 {
			r.Columns = append(r.Columns, BinColumn{Index: j, Cuts: cuts})
		}
	}
	r.Weight = float32(hatNorm / math.Sqrt(float64(len(r.Columns))))
	return r
}

// hatKnots returns the distinct values among the ascending values, or limit quantiles if there are more.
func hatKnots(values []float32, limit int) (cuts features.Floats) {
	add := func(v float32) {
		if len(cuts) == 0 || v > cuts[len(cuts)-1] {
			cuts = append(cuts, v)
		}
	}
	if distinct := slices.Compact(slices.Clone(values)); len(distinct) <= limit {
		return append(cuts, distinct...)
	}
	for q := range limit {
		add(values[(2*q+1)*len(values)/(2*limit)])
	}
	return cuts
}

package preprocess

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
)

const (
	// hatNorm is the norm of all hats of a row at most, beside kernels whose features have norm 1.
	hatNorm = 0.3
	// MostKnots is the largest number of knots of a column, fewKnots the least.
	MostKnots = 32
	fewKnots  = 4
)

// NewHats returns hats of the columns of x, n rows of d numbers: up to 32 of each column, as many
// as most allows for all of them together. The knots of a column are its distinct values, or
// quantiles where there are more values than knots. A column whose three knots would not be
// distinct, such as a nearly constant one, has none. HatsOf returns nil if no column has hats, or
// if most is less than four of each that would.
func NewHats(x []float32, n, d, most int) *Bins {
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
	knots := min(MostKnots, most/max(len(columns), 1))
	if len(columns) == 0 || knots < fewKnots {
		return nil
	}
	r := &Bins{In: d, Hats: true}
	for _, j := range columns {
		if cuts := column(j, knots); len(cuts) > 1 {
			r.Columns = append(r.Columns, BinColumn{Index: j, Cuts: cuts})
		}
	}
	r.Weight = float32(hatNorm / math.Sqrt(float64(len(r.Columns))))
	return r
}

// hatKnots returns each distinct value of the ascending values, or that many quantiles if there are
// more than most.
func hatKnots(values []float32, most int) (cuts features.Floats) {
	add := func(v float32) {
		if len(cuts) == 0 || v > cuts[len(cuts)-1] {
			cuts = append(cuts, v)
		}
	}
	if distinct := slices.Compact(slices.Clone(values)); len(distinct) <= most {
		return append(cuts, distinct...)
	}
	for q := range most {
		add(values[(2*q+1)*len(values)/(2*most)])
	}
	return cuts
}

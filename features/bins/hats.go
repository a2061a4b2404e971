package bins

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

// HatsOf returns hats of the columns of n rows of x, of d numbers each, that are neither constant nor have only two
// values: of each as many, 4 to 32, as most allows for all of them. Their knots are the values of a column, or
// quantiles if these are more. It returns nil if there is no such column, or if there are too many.
func HatsOf(x []float32, n, d, most int) *Recipe {
	values := make([]float32, n)
	column := func(j, knots int) features.Floats {
		for i := range values {
			values[i] = x[i*d+j]
		}
		slices.Sort(values)
		return knotsOf(values, knots)
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
	r := &Recipe{In: d, Hats: true}
	for _, j := range columns {
		if cuts := column(j, knots); len(cuts) > 1 {
			r.Columns = append(r.Columns, Column{Index: j, Cuts: cuts})
		}
	}
	r.Weight = float32(hatNorm / math.Sqrt(float64(len(r.Columns))))
	return r
}

// knotsOf returns all of the ascending values once if there are no more than that many, or as many
// quantiles.
func knotsOf(values []float32, most int) (cuts features.Floats) {
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

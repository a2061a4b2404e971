package sums

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/models/ridge"
)

// FeatureDrift compares two sets of rows by the mean of the model's features: the maximum mean
// discrepancy (Gretton et al. 2012, JMLR 13:723) of the kernel that the features approximate. It
// sees what no column shows by itself, such as two columns that were swapped or are no longer
// related as before.
type FeatureDrift struct {
	Rows [2]int64 `json:"rows"`
	// Distance is ‖μ_a − μ_b‖ in units in which sets of rows without any likeness are 1 apart,
	// without what chance adds to it.
	Distance float64 `json:"distance"`
	AtLeast  float64 `json:"at_least"` // the distance that is certain, with confidence 95%
	// P is the p-value of the hypothesis that both are drawn alike.
	P float64 `json:"p"`
}

// FeatureDriftOfSums compares the features of the rows of two sums, of one recipe and of different rows.
// Without drift n‖μ_a − μ_b‖² is a weighted sum of χ² variables whose weights are the eigenvalues
// of the covariance C of the features. Its mean is tr C·(1/n_a + 1/n_b) and its variance
// 2‖C‖²_F (1/n_a + 1/n_b)², which the sums hold; a gamma distribution with these moments gives the
// p-value. Where rows have weights, effective is the number of rows of equal weights as a share of
// the sum of weights; it is 1 otherwise. Fewer than 30 rows in a sum tell nothing.
func FeatureDriftOfSums(a, b *ridge.Sum, effective float64, threads int) FeatureDrift {
	f := FeatureDrift{Rows: [2]int64{a.Rows(), b.Rows()}, P: 1}
	if f.Rows[0] < leastRows || f.Rows[1] < leastRows {
		return f
	}
	return f.of(between(a, b, threads), effective)
}

// FeatureDriftOfPart compares the features of a part of the rows of a sum with the features of the
// other rows, as OfSums does. The part has that many rows, with features of those sums; both are by
// weight.
func FeatureDriftOfPart(all *ridge.Sum, rows float64, sums []float64, effective float64, threads int) FeatureDrift {
	f := FeatureDrift{Rows: [2]int64{int64(rows), all.Rows() - int64(rows)}, P: 1}
	if f.Rows[0] < leastRows || f.Rows[1] < leastRows {
		return f
	}
	return f.of(within(all, rows, sums, threads), effective)
}

// leastRows is the number of rows below which there is nothing to compare.
const leastRows = 30

func (f FeatureDrift) of(d distance, effective float64) FeatureDrift {
	rows := 1/(effective*d.rows[0]) + 1/(effective*d.rows[1])
	mean, variance := d.trace*rows, 2*d.frobenius*rows*rows
	if !(mean > 0) || !(variance > 0) {
		if d.squared > 0 { // features that are constant within each
			f.Distance, f.AtLeast, f.P = math.Sqrt(d.squared/2), math.Sqrt(d.squared/2), 0
		}
		return f
	}
	null := distuv.Gamma{Alpha: mean * mean / variance, Beta: mean / variance}
	f.P = null.Survival(d.squared)
	f.Distance = math.Sqrt(max(0, d.squared-mean) / 2)
	f.AtLeast = max(0, math.Sqrt(d.squared)-math.Sqrt(null.Quantile(1-level))) / math.Sqrt2
	return f
}

// String says it in words.
func (f FeatureDrift) String() string {
	return fmt.Sprintf("in the features of the model rows are %.3g apart, for certain %.3g (p = %.2g)", f.Distance, f.AtLeast, f.P)
}

package sums

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
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
	// Squared is ‖μ_a − μ_b‖² as it was found, where rows are 1 long in the mean: MMD².
	Squared float64 `json:"mmd2,omitempty"`
}

// FeatureSum has the features of rows, which count by their weights.
type FeatureSum struct {
	Weight   float64    // of the rows
	Features []float64  // their sum
	Products *ridge.Sum // only its tiles are used; nil if the products of the other rows include them
}

// featureSumOf returns the features of the rows of a sum.
func featureSumOf(s *ridge.Sum) FeatureSum { return FeatureSum{s.Weight(), s.Columns(), s} }

// Without returns the features of the rows that are not in a part, with the products of all rows.
func (s FeatureSum) Without(part FeatureSum) FeatureSum {
	rest := FeatureSum{s.Weight - part.Weight, make([]float64, len(s.Features)), s.Products}
	for j, v := range s.Features {
		rest.Features[j] = v - part.Features[j]
	}
	return rest
}

// AddPart adds part i of a sum of that layout, without labels.
func (s *FeatureSum) AddPart(layout ridge.Layout, i int, part []float64) error {
	from, width, cross := layout.Cross(i)
	switch {
	case layout.Tile(i):
		return s.Products.AddPart(i, part)
	case cross: // of all classes, or, with targets, the last column
		for at, v := range part {
			if !layout.Regression || at%width == width-1 {
				s.Features[from+at/width] += v
			}
		}
	default: // the head
		s.Weight += part[0]
	}
	return nil
}

// LeastRows is the number of rows below which there is nothing to compare.
const LeastRows = 30

// FeatureDriftOf compares the features of different rows under one recipe. Without drift
// n‖μ_a − μ_b‖² is a weighted sum of χ² variables whose weights are the eigenvalues of the
// covariance C of the features. Its mean is tr C·(1/n_a + 1/n_b) and its variance
// 2‖C‖²_F (1/n_a + 1/n_b)², which the sums hold; a gamma distribution with these moments gives the
// p-value. Where rows have weights, effective is the number of rows of equal weights as a share of
// the sum of weights; it is 1 otherwise. Fewer than 30 rows tell nothing.
func FeatureDriftOf(a, b FeatureSum, effective float64, threads int) FeatureDrift {
	f := FeatureDrift{Rows: [2]int64{int64(a.Weight), int64(b.Weight)}, P: 1}
	if min(f.Rows[0], f.Rows[1]) < LeastRows {
		return f
	}
	d := distanceOf(a, b, threads)
	rows := 1/(effective*a.Weight) + 1/(effective*b.Weight)
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
	return fmt.Sprintf("in the features of the model rows are %.3g apart, for certain %.3g (p = %.2g)", f.Distance,
		f.AtLeast, f.P)
}

// distance compares features in units of the mean square of a row's features, which is 1 for
// features of a normalised kernel:
//
//	squared    ‖μ_a − μ_b‖², μ the mean features
//	trace      tr C, with the covariance C of features within the two
//	frobenius  ‖C‖²_F, without what the error of C adds to it
type distance struct{ squared, trace, frobenius float64 }

// distanceOf needs rows in both, at least three together.
func distanceOf(a, b FeatureSum, threads int) (out distance) {
	d, n := len(a.Features), a.Weight+b.Weight
	meanA, meanB := make([]float64, d), make([]float64, d)
	for j := range meanA {
		meanA[j], meanB[j] = a.Features[j]/a.Weight, b.Features[j]/b.Weight
		e := meanA[j] - meanB[j]
		out.squared += float64(e * e)
	}
	// Tiles are summed apart, so that results do not depend on the threads.
	parts := blas.NumTiles(d)
	squares, traces, norms := make([]float64, parts), make([]float64, parts), make([]float64, parts)
	parallel.Each(parts, threads, func(_, k int) {
		i, j := 0, k
		for ; j > i; i++ {
			j -= i + 1
		}
		var tiles [][]float64
		for _, s := range []FeatureSum{a, b} {
			if s.Products != nil {
				tiles = append(tiles, s.Products.Part(1+k))
			}
		}
		rows, cols := blas.TileRows(d, i), blas.TileRows(d, j)
		top, left := i*blas.TileDim, j*blas.TileDim
		for r := range rows {
			last := cols
			if i == j {
				last = r + 1
			}
			wa, wb := a.Weight*meanA[top+r], b.Weight*meanB[top+r]
			for c := range last {
				g := 0.0
				for _, tile := range tiles {
					g += tile[r*cols+c]
				}
				v := (g - float64(wa*meanA[left+c]) - float64(wb*meanB[left+c])) / (n - 2)
				if i == j && c == r {
					traces[k] += v
					norms[k] += g
					squares[k] += float64(v * v)
				} else {
					squares[k] += 2 * float64(v*v)
				}
			}
		}
	})
	var norm float64
	for k := range parts {
		out.frobenius += squares[k]
		out.trace += traces[k]
		norm += norms[k]
	}
	unit := norm / n
	if unit == 0 {
		return distance{}
	}
	out.squared /= unit
	out.trace /= unit
	// Of normal features, E‖Ĉ‖² = ‖C‖² + ((tr C)² + ‖C‖²)/(n − 2).
	free := n - 2
	out.frobenius = max(0, (out.frobenius/(unit*unit)-float64(out.trace*out.trace)/free)*free/(free+1))
	return out
}

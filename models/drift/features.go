package drift

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/ridge"
)

// Features compares two sets of rows by the mean of the model's features. That is the maximum mean
// discrepancy (Gretton et al. 2012, JMLR 13:723) of the kernel that the features approximate. It detects
// changes that no single column shows, such as two columns that were swapped or have lost their relation.
type Features struct {
	Rows [2]int64 `json:"rows"`
	// Distance is ‖μ_a − μ_b‖ without the part that chance adds. Sets of rows with nothing in common have
	// distance 1.
	Distance float64 `json:"distance"`
	AtLeast  float64 `json:"at_least"` // the distance that is certain with 95% confidence
	// P is the p-value of the hypothesis that both sets have the same distribution.
	P float64 `json:"p"`
	// Squared is MMD² = ‖μ_a − μ_b‖², with features scaled so that the mean squared length of a row is 1.
	Squared float64 `json:"mmd2,omitempty"`
}

// FeatureSum has sums over the features of rows, by weight.
type FeatureSum struct {
	Rows     int64      // number of the rows
	Weight   float64    // sum of their weights
	Features []float64  // sum of the features
	Products *ridge.Sum // only its tiles are used; nil if the products of the other rows include them
}

// Without returns the FeatureSum of the rows outside part. It keeps the products of all rows.
func (s FeatureSum) Without(part FeatureSum) FeatureSum {
	rest := FeatureSum{s.Rows - part.Rows, s.Weight - part.Weight, make([]float64, len(s.Features)), s.Products}
	for j, v := range s.Features {
		rest.Features[j] = v - part.Features[j]
	}
	return rest
}

// AddPart adds part i of a sum of that shape. It ignores labels.
func (s *FeatureSum) AddPart(shape ridge.Shape, i int, part []float64) error {
	from, width, cross := shape.CrossPlace(i)
	switch {
	case shape.IsTile(i):
		return s.Products.AddPart(i, part)
	case cross: // summed over classes; with targets, the last column
		for at, v := range part {
			if !shape.Regression || at%width == width-1 {
				s.Features[from+at/width] += v
			}
		}
	default: // the head
		s.Rows += shape.Rows(part)
		s.Weight += ridge.Head(part).Weight()
	}
	return nil
}

// MinRows is the number of rows in each set below which nothing is compared.
const MinRows = 30

// CompareFeatures compares two sets of rows under one recipe. Without drift, and for many rows, ‖μ_a − μ_b‖²
// is distributed like a weighted sum of χ² variables. The weights are the eigenvalues of the covariance C of
// the features, multiplied by 1/n_a + 1/n_b. Its mean is tr C·(1/n_a + 1/n_b) and its variance
// 2‖C‖²_F (1/n_a + 1/n_b)², both of which follow from the sums. The p-value is from a gamma distribution with
// these moments. effective is the number of rows of equal weights divided by the sum of weights, 1 if rows
// have no weights. With fewer than MinRows rows, or rows of equal weights, in a set P is 1.
func CompareFeatures(a, b FeatureSum, effective float64, threads int) Features {
	f := Features{Rows: [2]int64{a.Rows, b.Rows}, P: 1}
	equal := math.Round(min(a.Weight, b.Weight) * effective) // the number of rows of equal weights
	if min(a.Rows, b.Rows, int64(equal)) < MinRows {
		return f
	}
	d := distanceOf(a, b, effective, threads)
	rows := 1/(effective*a.Weight) + 1/(effective*b.Weight)
	mean, variance := d.trace*rows, 2*d.frobenius*rows*rows
	if !(mean > 0) || !(variance > 0) {
		if d.squared > 0 { // features that are constant in each set
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

// String describes the drift in words.
func (f Features) String() string {
	return fmt.Sprintf("in the features of the model rows are %.3g apart, for certain %.3g (p = %.2g)", f.Distance,
		f.AtLeast, f.P)
}

// distance is in units of the mean square of a row's features, which is 1 for a normalised kernel:
//
//	squared    ‖μ_a − μ_b‖², with the mean features μ
//	trace      tr C, with the pooled covariance C of features within the sets
//	frobenius  ‖C‖²_F, without the part that the error of C adds
type distance struct{ squared, trace, frobenius float64 }

// distanceOf needs rows in both sets, at least three in all. Of rows that count as m independent ones (Kish's
// (Σw)²/Σw², with weights w), the scatter around the two means is on average C·Σw·(m − 2)/m.
func distanceOf(a, b FeatureSum, effective float64, threads int) (out distance) {
	d, n := len(a.Features), a.Weight+b.Weight
	degrees := n - 2/effective // what the scatter is divided by
	meanA, meanB := make([]float64, d), make([]float64, d)
	for j := range meanA {
		meanA[j], meanB[j] = a.Features[j]/a.Weight, b.Features[j]/b.Weight
		e := meanA[j] - meanB[j]
		out.squared += float64(e * e)
	}
	// Each tile has its own sum, so that results do not depend on the threads.
	parts := blas.NumTiles(d)
	squares, traces, norms := make([]float64, parts), make([]float64, parts), make([]float64, parts)
	blas.EachTile(d, threads, func(_, k, i, j int) {
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
				v := (g - float64(wa*meanA[left+c]) - float64(wb*meanB[left+c])) / degrees
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
	// For normal features, E‖Ĉ‖² = ‖C‖² + ((tr C)² + ‖C‖²)/(m − 2).
	free := effective*n - 2
	out.frobenius = max(0, (out.frobenius/(unit*unit)-float64(out.trace*out.trace)/free)*free/(free+1))
	return out
}

package ridge

import (
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/ridge/internal/solver"
	"github.com/bochner-ml/bochner/models/score"
)

// discriminants returns the discriminant of each class by its score on the rows of fold, to which the
// solution of y was not fitted. Means and shares of classes are those of rows without the weights of
// classes; the variance counts these, as products of features are not known by class. Distances of
// means are drawn a little to their mean over the classes: as if a row more had that distance, so
// that a class of few rows, or none, has one. It is nil for a fold without rows.
func (y *system) discriminants(fold *Sum, threads int) []score.Discriminant {
	d, k, w, n := y.shape.Dim, y.shape.Outputs, fold.shape.width(), fold.head[0]
	if n == 0 {
		return nil
	}
	vt := make([]float64, len(y.v))
	blas.Transpose(vt, y.v, d, k)
	// Σ(Vᵀ(z-z̄₀))² of each output, as squared errors on targets of 0.
	squares := solver.NewHeldOutErrors(d, 1, threads).Squares(
		solver.HeldOutFit{N: y.n, Columns: y.colSum, Targets: []float64{0}, Each: []float64{1}},
		solver.HeldOutSums{N: n, Columns: fold.Columns(), Targets: []float64{0}, Squares: []float64{0},
			Tiles: fold.tiles, Cross: make([]float64, d), Width: 1}, vt)
	class, rows := make([]float64, k), 0.0 // without the weights of classes
	for c := range class {
		class[c] = fold.head[1+c] / y.weights.Class(c)
		rows += class[c]
	}
	plain := make([]float64, d) // Σz without the weights of classes
	for j := range plain {
		for c, v := range fold.cross[j*w:][:k] {
			plain[j] += v / y.weights.Class(c)
		}
	}
	columns := fold.Columns()
	own, others, spread := make([]float64, k), make([]float64, k), make([]float64, k)
	var mean float64
	for c := range k {
		in, out := fold.head[1+c], n-fold.head[1+c]
		var weighted float64 // mean of the others, with the weights of classes
		for j, v := range vt[c*d:][:d] {
			zero, z := y.colSum[j]/y.n, fold.cross[j*w+c]
			own[c] += float64(v * (ratio(z, in) - zero))
			others[c] += float64(v * (ratio(plain[j]-z/y.weights.Class(c), rows-class[c]) - zero))
			weighted += float64(v * (ratio(columns[j]-z, out) - zero))
		}
		spread[c] = max(squares[c]-float64(in*float64(own[c]*own[c]))-float64(out*float64(weighted*weighted)), 0) / n
		if in > 0 && out > 0 {
			mean += float64(class[c] / rows * (own[c] - others[c]))
		}
	}
	unit := float64(fold.Rows()) / rows // rows per unit of their weights
	all := make([]score.Discriminant, k)
	for c := range all {
		members, rest := float64(class[c]*unit), float64((rows-class[c])*unit)
		few := min(members, rest)
		distance := mean
		if few > 0 {
			distance = (float64(few*(own[c]-others[c])) + mean) / (few + 1)
		}
		centre := others[c] + distance/2
		if members > rest { // the mean of most rows is the surer one
			centre = own[c] - distance/2
		}
		// A score is 2(Vᵀ(z-z̄₀) + q̄₀) - 1: see Solution.
		at := float64(2*(centre+y.outSum[c]/y.n)) - 1
		all[c] = score.NewDiscriminant(2*distance, 4*spread[c], at, members, rest)
	}
	return all
}

// ratio returns x/n, and 0 for no rows.
func ratio(x, n float64) float64 {
	if n > 0 {
		return x / n
	}
	return 0
}

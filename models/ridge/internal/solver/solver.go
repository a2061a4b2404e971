// Package solver says how the systems of a choice of λ for ridge regression are solved, and what that costs.
//
// A LambdaDescent finds the best of a list of values of λ, of which it tries few. Held-out errors
// fall and rise once as λ grows, but for the noise of a few rows. So one fold leads from a value to
// a least one between its neighbours, and the others try only what is close to the best.
// HeldOutErrors computes the errors of weights on rows that they were not fitted to, from the sums
// of those rows alone.
//
// A Matrix solves symmetric systems (A + μR)X = B with a diagonal R for several shifts μ: exactly, by
// a factorisation in float64 of each, or by conjugate gradients with factors in float32.
//
// A Problem solves ridge regression where rows are fewer than features, for the folds of a
// cross-validation. The dual problem is the smaller one then: with K = ZR⁻¹Zᵀ, u the column of ones,
// and R the diagonal by which μ penalises weights,
//
//	(K + μI)α = y - u b,   uᵀα = 0,   V = R⁻¹Zᵀα,
//
// and a held-out fold has the residuals y_f - K_f α - u_f b.
package solver

import "github.com/bochner-ml/bochner/internal/blas"

// Shape describes a system, with D features and k outputs, and its sum, which has so many columns of
// cross products and numbers in its head.
type Shape struct{ Dim, Outputs, Width, Head int }

const (
	// PartFrom is the number of features from which on a part of them finds λ first, if
	// there are more than PartValues values. Below, all values are tried on all folds.
	PartFrom   = 1024
	PartValues = 3

	// PartFolds is the most folds whose sums of a part of the features are in memory.
	PartFolds = 16

	// One in so many features is in the part.
	PartShare = 4
)

const (
	// Numbers of features from which on a factorisation in float64 costs more than a descent:
	// in all, for each output, and for each output if descents share a factor.
	DescentDim       = 1024
	descentPerOutput = 80
	sharedPerOutput  = 256

	// DescentRows is the number of rows per feature from which on the rest is like the
	// whole: a fold leaves out a part of the rows, and with M = G_c + μI of all rows, the
	// eigenvalues of M⁻¹(G_c' + μ'I) for the other rows are between about 0.4 and 1 for 5 folds. So
	// one factor of M serves every fold, in a dozen steps.
	DescentRows = 6

	// MaxFactors is how many factors are in memory at once.
	MaxFactors = 3
)

// By is how the systems of folds are solved.
type By int

const (
	Exactly By = iota // by a factor in float64 of each
	Alone             // by a factor in float32 of each, and a few steps of a descent
	Shared            // by descents that share one factor in float32 of all rows for each λ
)

// For returns the cheapest solver for that many rows. A factor of all rows does not pay where only the first
// fold judges.
func For(shape Shape, rows int64, first bool) By {
	switch d, k := shape.Dim, shape.Outputs; {
	case d < DescentDim || d > RereadAbove:
		return Exactly
	case !first && d >= sharedPerOutput*k && rows >= DescentRows*int64(d):
		return Shared
	case d >= descentPerOutput*k:
		return Alone
	}
	return Exactly
}

// Few tells whether so many rows are few: then they are carried, and their dual problem is solved.
func Few(shape Shape, rows int64) bool {
	most := int64(shape.Dim)
	if shape.Dim > RereadAbove {
		most /= fewShare // more of them take as much memory as a sum
	}
	return shape.Dim >= PartFrom && rows <= most
}

// PartOf returns the features of the part, ascending: the first of each tile, so that all
// kinds of features are in it, whether they alternate or lie side by side.
func PartOf(dim int) []int {
	var part []int
	for i := 0; i*blas.TileDim < dim; i++ {
		rows := blas.TileRows(dim, i)
		for j := range (rows + PartShare - 1) / PartShare {
			part = append(part, i*blas.TileDim+j)
		}
	}
	return part
}

// RereadAbove is the number of features above which sums are in memory one at a time while λ is chosen. Tests
// change it.
var RereadAbove = 1 << 14

// fewShare is the number of features for each of few rows, where sums are reread.
const fewShare = 10

// FewTries is the number of rows up to which all values of λ are tried on all folds, if rows are few.
const FewTries = 1024

// Folds is the number of folds of a cross-validation, of which a fold has the share of the rows.
const Folds = 5

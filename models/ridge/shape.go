// Package ridge fits regularised least squares from sums that one pass over the data adds
// up exactly, and chooses λ by cross-validation from the same sums.
//
// The objective, for rows of features φ_i with targets t_i, is
//
//	(1/2n) Σ ‖t_i - Wᵀφ_i - b‖² + (λ/2) ‖W‖²,
//
// so that W solves (G_c + nλI) W = R_c, where G_c = Σ (φ-φ̄)(φ-φ̄)ᵀ and
// R_c = Σ (φ-φ̄)(t-t̄)ᵀ, and the intercept, which is not penalised, is
// b = t̄ - Wᵀφ̄. Classes are coded one-vs-all: t_c = 1 for the row's class
// and -1 for the others.
//
// Features are rounded to a grid of 8 bits, or of up to 16, and targets to a grid of 16 bits. All sums over
// rows are then integers, held exactly in float64. Sums can be added in any order, and subtracted again,
// without changing a bit, so equal data give equal models however they were cut.
//
// A pass fills a Sum for each fold of a FoldPlan. Parts are the pieces of a Sum that workers exchange, at
// most 8 MiB each; a Stripe is a range of parts, for sums too large for one worker. Where n < D, GridRows
// are stored instead of sums. Solve chooses λ and returns a Solution; SolveChain does so for folds that
// follow each other in time. Fit does all of this for rows in memory. An Evaluator answers questions by
// fits to some sums and errors on others.
package ridge

import (
	"fmt"

	"github.com/bochner-ml/bochner/internal/blas"
)

// Limits of a Shape.
const (
	MaxDim     = 1 << 17 // a Gram matrix of 64 GiB
	MaxOutputs = 1 << 17
)

const maxTarget = blas.MaxTarget // |q| of a target on its grid

// Shape describes a Sum: D features and k outputs, which are the classes, or the targets
// if Regression is set. Weighted says that rows have weights.
type Shape struct {
	Dim        int
	Outputs    int
	Regression bool
	Weighted   bool
}

// Validate returns an error that names the field out of range.
func (s Shape) Validate() error {
	if s.Dim < 1 || s.Dim > MaxDim {
		return fmt.Errorf("ridge: %d features, want 1 to %d", s.Dim, MaxDim)
	}
	if s.Outputs < 1 || s.Outputs > MaxOutputs {
		return fmt.Errorf("ridge: %d outputs, want 1 to %d", s.Outputs, MaxOutputs)
	}
	return nil
}

// Bytes returns the memory of one Sum of the shape. A worker has one for every fold.
func (s Shape) Bytes() int64 { return solverShape(s).Bytes() }

// PartBytes returns the memory of a Sum that has only the parts from first up to end.
func (s Shape) PartBytes(first, end int) int64 {
	n := int64(s.headLen()) + blas.TilesLen(s.Dim, end-1) - blas.TilesLen(s.Dim, min(max(first, 1), max(end, 1))-1)
	if end > blas.NumTiles(s.Dim)+1 {
		n += int64(s.Dim) * int64(s.width())
	}
	return 8 * n
}

// MaxRows returns the largest number of rows, or sum of weights, for which sums are guaranteed exact if
// features are at most that many steps. With more, a sum of products could pass 2⁵³.
func (s Shape) MaxRows(most int) int64 {
	if s.Regression {
		return (1 << 53) / int64(most*max(most, maxTarget))
	}
	return (1 << 53) / int64(most*most)
}

// FineSteps is the number of steps from 0 to the bound on a grid of 16 bits. The full range has 55,440
// steps, a multiple of all numbers up to 12, so small whole numbers that fill a range lie on its grid.
const FineSteps = 27720

// Fine returns the number of steps of the finest grid, up to FineSteps, on which sums of that many rows (or
// of that sum of weights) are guaranteed exact. It is at least the number for 8 bits.
func (s Shape) Fine(rows int64) int {
	most := FineSteps
	for _, divisor := range []int{1, 2, 5, 11, 22, 55, 110} {
		if most = FineSteps / divisor; s.MaxRows(most) >= rows {
			return most
		}
	}
	return max(most, blas.MostByte)
}

// width returns the number of columns of the cross products: one per output, and in regression one more for
// a constant target 1, whose column is Σz.
func (s Shape) width() int {
	if s.Regression {
		return s.Outputs + 1
	}
	return s.Outputs
}

// headLen returns the length of the head: rows and class counts, or rows, Σq and the two limbs of Σq². If
// these are sums of weights, the number of rows follows.
func (s Shape) headLen() int {
	n := 1 + s.Outputs
	if s.Regression {
		n += 2 * s.Outputs
	}
	if s.Weighted {
		n++
	}
	return n
}

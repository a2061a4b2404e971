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
// Features are rounded to a grid of 8 bits, or of up to 16, and targets to one of 16
// bits. All sums over rows are then integers, held exactly in float64: sums may be added
// in any order, and subtracted again, without changing a bit. So equal data give equal
// models, however they were cut.
//
// SolveChain chooses λ where folds follow each other in time. A Stripe is a range of the parts of sums that
// are too large for one worker. GridRows holds few rows as they are added up: where rows do not outnumber
// features, they take less than their sums.
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

const maxTarget = blas.MaxTarget // |q| on the grid of targets

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

// Bytes returns the memory that one Sum of the shape takes, for the plan of a pass: a
// worker has one for every fold.
func (s Shape) Bytes() int64 { return solverShape(s).Bytes() }

// PartBytes returns the memory of a Sum that adds up only the parts from first up to end.
func (s Shape) PartBytes(first, end int) int64 {
	n := int64(s.headLen()) + blas.TilesLen(s.Dim, end-1) - blas.TilesLen(s.Dim, min(max(first, 1), max(end, 1))-1)
	if end > blas.NumTiles(s.Dim)+1 {
		n += int64(s.Dim) * int64(s.width())
	}
	return 8 * n
}

// MaxRows is the largest number of rows, or sum of weights, whose sums are guaranteed exact
// if features are at most that many steps: above it the largest entry of features and targets could pass
// 2⁵³.
func (s Shape) MaxRows(most int) int64 {
	if s.Regression {
		return (1 << 53) / int64(most*max(most, maxTarget))
	}
	return (1 << 53) / int64(most*most)
}

// FineSteps is the number of steps from 0 to the bound on a grid of 16 bits. The number
// over both sides, 55,440, is a multiple of all numbers up to 12, so that small whole
// numbers that fill a range are points of its grid.
const FineSteps = 27720

// Fine returns the steps of the finest grid, up to FineSteps, on which the sums of that many rows,
// or of rows with that sum of weights, are guaranteed exact. It has at least the steps of a grid of 8
// bits.
func (s Shape) Fine(rows int64) int {
	most := FineSteps
	for _, divisor := range []int{1, 2, 5, 11, 22, 55, 110} {
		if most = FineSteps / divisor; s.MaxRows(most) >= rows {
			return most
		}
	}
	return max(most, blas.MostByte)
}

// width is the number of columns of the cross products: one per output, and in
// regression another for the target 1, which makes it the sum of the features.
func (s Shape) width() int {
	if s.Regression {
		return s.Outputs + 1
	}
	return s.Outputs
}

// headLen is the length of the head: rows and class counts, or rows, Σq and the
// two limbs of Σq²; and the count of rows if the others are sums of weights.
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

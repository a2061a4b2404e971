package training

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/report"
)

// Sums over rows are of features on a grid of 8 bits, which is fast, or of 16. Rounding
// to 8 bits acts like a λ of 1e-5/D for Fourier features, so jobs that take a smaller
// λ want 16, and so do raw columns with few large numbers among many small ones.

// smallGram is up to how many products of features, rows × D², 16 bits are taken at
// once: what they cost is not felt.
var smallGram = float64(ridge.FewProducts)

const (
	// againGram and againRows are up to where the rows are added up again on 16 bits if
	// the λ that was chosen is at the floor of 8: a minute of a core.
	againGram = 1 << 42
	againRows = 1 << 22
)

// products is rows × D².
func products(rows int64, dim int) float64 {
	return float64(rows) * float64(dim) * float64(dim)
}

// fine is the number of steps of a grid of 16 bits, fewer where rows are so many that
// their sums would not be exact, or features go far beyond what the sample's have.
func (t *Training) fine() int {
	shape := ridge.Shape{Dim: t.Recipe.Dim, Outputs: 1, Regression: t.Target != nil && t.Target.Grid != nil}
	return max(blas.MostByte, int(float64(shape.Fine(t.Counts.Used))/math.Max(1, t.Recipe.Reach)))
}

// wide tells that features have ranges of their own.
func (t *Training) wide() bool { return t.Recipe.Choice != nil && t.Recipe.Choice.Wide }

// Steps is the number of steps of the grid that a job begins with; with small, as many
// products as that are few.
func (t *Training) Steps(grid ridge.Bits, small float64) int {
	return grid.Steps(products(t.Counts.Used, t.Recipe.Dim), small, t.wide(), t.fine())
}

// atFloor tells whether a λ is so small that rounding features to 8 bits changes what
// it does.
func (t *Training) atFloor(lambda float64) bool { return lambda <= ridge.FloorFactor*t.floor }

// again tells whether rows are few enough to be added up once more.
func (t *Training) again() bool {
	return t.Counts.Used <= againRows && products(t.Counts.Used, t.Recipe.Dim) <= againGram
}

// GridText names a grid for people.
func GridText(most int) string {
	if most == blas.MostByte {
		return "8 bits"
	}
	bits := 1 + int(math.Ceil(math.Log2(float64(most))))
	return fmt.Sprintf("%d bits (%s steps to either side)", bits, report.Groups(int64(most)))
}

// gridNotes tells what the grid has to do with the figures of a fit by sums.
func (t *Training) gridNotes() (notes []string) {
	l := t.Learner
	if l.Steps == 0 {
		return nil
	}
	if t.atFloor(l.Lambda) {
		hint := "--grid 16 has a finer one"
		if l.Steps != blas.MostByte {
			hint = "there is no finer one"
		}
		notes = append(notes, fmt.Sprintf("rounding features to a grid of %s acts like a lambda of %.2g on top of lambda %g; %s",
			GridText(l.Steps), t.floor, l.Lambda, hint))
		if t.Copies != nil {
			notes = append(notes, "copies are rounded alike: at such a lambda held-out errors of rows that repeat are too small")
		}
	}
	for _, row := range l.Table {
		if row.Lambda == l.Lambda && row.Failed == "" {
			notes = append(notes, roundingNote(row, t.Target.Grid != nil)...)
		}
	}
	return notes
}

// roundingNote tells what rounding has to do with the held-out error of a λ, if it is
// more than a percent of the squared error.
func roundingNote(row ridge.Row, regression bool) []string {
	if row.HeldOutRows == 0 {
		if row.Rounding <= 0.01*row.MSE {
			return nil
		}
		return []string{fmt.Sprintf("held-out errors are of rounded features; of features that are not, as the model predicts from, that of lambda %g is about %.3g less", row.Lambda, row.Rounding)}
	}
	if math.Abs(row.FoldMSE-row.HeldOutMSE) <= 0.01*row.HeldOutMSE {
		return nil
	}
	name, rounded, plain := "mse", row.FoldMSE, row.HeldOutMSE
	if regression {
		name, rounded, plain = "RMSE", math.Sqrt(rounded), math.Sqrt(plain)
	}
	return []string{fmt.Sprintf("held-out %s is of rounded features; of features as the model predicts from, that of lambda %g on %s rows of one fold is %.6g, where it is %.6g of rounded ones",
		name, row.Lambda, report.Groups(row.HeldOutRows), plain, rounded)}
}

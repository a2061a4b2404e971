package training

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// RoundingNote returns a note if rounding contributes more than one percent to the held-out squared error for a
// λ.
func RoundingNote(row ridge.CVResult, regression bool) []string {
	if row.HeldOutRows == 0 {
		if row.Rounding <= 0.01*row.MSE {
			return nil
		}
		return []string{fmt.Sprintf("held-out errors are measured with rounded features; with unrounded features, "+
			"as in predictions, the error at lambda %g is about %.3g smaller", row.Lambda, row.Rounding)}
	}
	if math.Abs(row.FoldMSE-row.HeldOutMSE) <= 0.01*row.HeldOutMSE {
		return nil
	}
	name, rounded, plain := "mse", row.FoldMSE, row.HeldOutMSE
	if regression {
		name, rounded, plain = "RMSE", math.Sqrt(rounded), math.Sqrt(plain)
	}
	if regression && row.Folds == 1 {
		return []string{fmt.Sprintf("lambda was chosen by errors of features that are rounded for sums: at lambda %g, the "+
			"held-out RMSE of rounded features is %.6g, compared with %.6g in predictions", row.Lambda, rounded, plain)}
	}
	return []string{fmt.Sprintf("held-out %s is measured with rounded features; with unrounded features, as in "+
		"predictions, the %s at lambda %g on %s rows of one fold is %.6g, compared with %.6g for rounded ones",
		name, name, row.Lambda, report.Groups(row.HeldOutRows), plain, rounded)}
}

// convergedGap is the largest distance from the optimum, as a share of the objective, at which a model is
// called converged.
const convergedGap = 0.01

// converged reports whether the duality gap or the gradient of the last round shows that the objective is near
// the optimum. share is the bound on the distance, as a share of the objective, NaN if there is none.
func converged(r iterative.Report) (ok bool, share float64) {
	share = math.NaN()
	if gap, known := r.Gap(); known {
		share = gap / math.Abs(r.Objective)
	} else if r.Above != nil {
		share = *r.Above / math.Abs(r.Objective)
	}
	return share <= convergedGap, share
}

// unconverged describes why a model is not called converged, "" if it is.
func unconverged(c *models.TrainingLog, history []iterative.Report) string {
	if c.Converged == nil || *c.Converged {
		return ""
	}
	last := history[len(history)-1]
	if _, share := converged(last); !math.IsNaN(share) {
		return fmt.Sprintf("not converged: the objective may be up to %s%% above the optimum; more --rounds, more "+
			"--features or a larger --lambda bring it closer", percent(share))
	}
	text := "not converged: the rounds ended"
	if len(history) > 1 {
		before := history[len(history)-2].Objective
		if fell := (before - last.Objective) / math.Abs(before); fell > 0 {
			text += fmt.Sprintf(" while the objective still fell by %.2g%% in the last one", 100*fell)
		}
	}
	return text + "; more --rounds may lower it"
}

// percent formats a share in percent, with two digits or as a whole number.
func percent(share float64) string {
	if p := 100 * share; p >= 99.5 && p < 1e15 {
		return report.Groups(int64(math.Round(p)))
	}
	return fmt.Sprintf("%.2g", 100*share)
}

// gridNotes returns notes on how the grid of the features affects the figures of a fit by sums. floor is the λ
// to which rounding to the grid is equivalent. copies says whether copies of rows were assigned to folds one
// by one.
func gridNotes(l models.Learner, floor float64, copies, regression bool) (notes []string) {
	if l.Steps == 0 {
		return nil
	}
	if l.Lambda <= ridge.FloorFactor*floor {
		hint := "--grid 16 is finer"
		if l.Steps != features.ByteSteps {
			hint = "no finer grid is available"
		}
		notes = append(notes,
			fmt.Sprintf("rounding features to a grid of %s acts like a lambda of %.2g on top of lambda %g; %s",
				report.GridText(l.Steps), floor, l.Lambda, hint))
		if copies {
			notes = append(notes, "copies are rounded alike: at such a lambda, held-out errors of repeated rows are too small")
		}
	}
	for _, row := range l.Table {
		// With weights of classes, errors from sums do not compare with errors of scored rows.
		if row.Lambda == l.Lambda && row.Failed == "" && l.ClassWeights == nil {
			notes = append(notes, RoundingNote(row, regression)...)
		}
	}
	return notes
}

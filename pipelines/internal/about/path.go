package about

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// LeastOf notes that an error is the smallest of several.
func LeastOf(tried int) string {
	if tried < 2 {
		return ""
	}
	return fmt.Sprintf(" (the smallest of %d, so the error on new rows may be slightly larger)", tried)
}

// Edge returns a note if the best λ was the first or last that was tried. Below least, the
// rounding of features changes the effect of λ; it is 0 if that never happens.
func Edge(path []ridge.Row, chosen, least float64) string {
	low, high := chosen, chosen
	for _, row := range path {
		low, high = min(low, row.Lambda), max(high, row.Lambda)
	}
	switch {
	case len(path) < 2:
	case chosen == low && chosen <= least: // gridNotes has noted it
	case chosen == low && chosen/10 < least:
		return fmt.Sprintf("%g is the smallest lambda that was tried: below it, the rounding of features matters; --lambda "+
			"accepts smaller ones", chosen)
	case chosen == low && chosen > 0:
		return fmt.Sprintf("%g is the smallest lambda that was tried; a smaller one may do better", chosen)
	case chosen == high:
		return fmt.Sprintf("%g is the largest lambda that was tried; a larger one may do better", chosen)
	}
	return ""
}

// OnFirst takes the held-out figures of each λ from the rows of the first fold, where targets
// have these variances.
func OnFirst(path []ridge.Row, variance []float64) {
	for i := range path {
		r := &path[i]
		if r.Failed != "" {
			continue
		}
		r.MSE, r.StdErr, r.Folds, r.R2 = r.FoldMSE, 0, 1, 0
		switch {
		case len(variance) > 1: // MSE is a share of it
			r.R2 = 1 - r.FoldMSE
		case len(variance) == 1 && variance[0] > 0:
			r.R2 = 1 - r.FoldMSE/variance[0]
		}
	}
}

// halfWidth returns half the width of the 95% interval of a held-out squared error: by the folds,
// with quantiles of Student's t, or of one fold by its rows; 0 if it is not known.
func halfWidth(row ridge.Row) float64 {
	if row.Folds > 1 {
		return row.StdErr * distuv.StudentsT{Sigma: 1, Nu: float64(row.Folds - 1)}.Quantile(0.975)
	}
	return row.HeldOutStdErr * distuv.UnitNormal.Quantile(0.975)
}

// WritePath prints the cross-validation results of each λ. Errors of targets are in their units.
// Errors of classes are the share of misclassified rows of one fold, and the squares that ridge
// minimises, of scores that should be 1 for the row's class and −1 for the others. The squares
// determine the choice of λ.
func WritePath(w io.Writer, task models.Task, path []ridge.Row, chosen float64) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	numbers := task == models.Regression
	scored := !numbers && slices.ContainsFunc(path, func(r ridge.Row) bool { return r.HeldOutRows > 0 })
	lost := slices.ContainsFunc(path, func(r ridge.Row) bool { return r.HeldOutLogLoss > 0 })
	none, extra, first := "-\t-\t-\t-", "", ""
	// A λ that was ruled out after a fold or two has errors of other rows than the chosen; all have
	// errors of the first.
	most := 0
	for _, row := range path {
		most = max(most, row.Folds)
	}
	differ := slices.ContainsFunc(path, func(r ridge.Row) bool {
		return r.Failed == "" && r.Folds < most && r.FoldMSE > 0
	})
	if differ {
		none, first = none+"\t-", "error on fold 1\t"
	}
	if lost {
		extra = "held-out log loss\t"
	}
	switch {
	case numbers:
		none += "\t-"
		fmt.Fprintf(tw, "\tlambda\theld-out RMSE\t± 95%%\t%sR²\ttraining RMSE\tfolds\t\t\n", first)
	case scored:
		none += "\t-\t-" + strings.Repeat("\t-", strings.Count(extra, "\t"))
		fmt.Fprintf(tw, "\tlambda\theld-out error\t95%% interval\t%sheld-out mse of ±1 codes\t± 95%%\t%straining "+
			"mse\tfolds\t\t\n", extra, first)
	default:
		fmt.Fprintf(tw, "\tlambda\theld-out mse of ±1 codes\t± 95%%\t%straining mse\tfolds\t\t\n", first)
	}
	for _, row := range path {
		mark := ""
		if row.Lambda == chosen {
			mark = "<- chosen"
		}
		if row.Failed != "" {
			fmt.Fprintf(tw, "\t%g\t%s\t%s\t\n", row.Lambda, none, row.Failed)
			continue
		}
		held, half, one, training := row.MSE, halfWidth(row), row.FoldMSE, row.Train
		if numbers {
			held, one, training = math.Sqrt(held), math.Sqrt(one), math.Sqrt(training)
			half /= 2 * max(held, math.SmallestNonzeroFloat64) // d√x = dx/(2√x)
		}
		se := "-"
		if half > 0 {
			se = fmt.Sprintf("%.2g", half)
		}
		fmt.Fprintf(tw, "\t%g\t", row.Lambda)
		if scored {
			rate, interval := HeldOutRate(row.HeldOutErrors, row.HeldOutRows, row.HeldOutError, row.HeldOutEffective)
			fmt.Fprintf(tw, "%s\t%s\t", rate, interval)
		}
		if lost {
			fmt.Fprintf(tw, "%.5f\t", row.HeldOutLogLoss)
		}
		fmt.Fprintf(tw, "%.6g\t%s\t", held, se)
		if differ {
			fmt.Fprintf(tw, "%.6g\t", one)
		}
		if numbers {
			fmt.Fprintf(tw, "%.4f\t", row.R2)
		}
		fmt.Fprintf(tw, "%.6g\t%d\t%s\t\n", training, row.Folds, mark)
	}
	tw.Flush()
	if i := slices.IndexFunc(path, func(r ridge.Row) bool { return r.HeldOutRows > 0 }); scored {
		fmt.Fprintf(w, "          errors are on %s rows of one fold, predicted by the model trained without them\n",
			report.Groups(path[i].HeldOutRows))
	}
}

// HeldOutRate returns the share of held-out rows that were wrong, with its interval; by weight, and
// without an interval, where rows have weights. Rows that depend on each other are as good as
// effective ones; 0 is all of them.
func HeldOutRate(errors, rows int64, byWeight, effective float64) (rate, interval string) {
	if byWeight > 0 {
		return fmt.Sprintf("%.2f%%", 100*byWeight), "-"
	}
	share := float64(errors) / float64(max(1, rows))
	if effective > 0 && effective < float64(rows) {
		return fmt.Sprintf("%.2f%%", 100*share), score.PercentInterval(int64(math.Round(share*effective)),
			int64(math.Round(effective)))
	}
	return fmt.Sprintf("%.2f%%", 100*share), score.PercentInterval(errors, rows)
}

// Numbers lists numbers.
func Numbers(v []float64) string {
	var words []string
	for _, x := range v {
		words = append(words, fmt.Sprintf("%g", x))
	}
	return strings.Join(words, ", ")
}

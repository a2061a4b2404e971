package trained

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/report"
)

// writeLog prints the training log of an iterative learner.
func writeLog(w io.Writer, r *Result) {
	c := r.Log
	switch len(c.Path) {
	case 0:
		fmt.Fprintf(w, "lambda    %g\n", r.Lambda)
	case 1:
		fmt.Fprintf(w, "lambda    %g; on rows held out at first, %s:\n", r.Lambda, report.OneIn(r.Folds))
		writeTrials(w, r.Task, c.Path, math.NaN())
	default:
		fmt.Fprintf(w, "lambda    %g, by the error on held-out rows, %s%s:\n", r.Lambda, report.OneIn(r.Folds), leastOf(len(c.Path)))
		writeTrials(w, r.Task, c.Path, r.Lambda)
	}
	fmt.Fprintf(w, "learner   %s, %s, %s, %s: %s\n", r.Learner, c.Loss, report.Counted(c.Partitions, "partition"), report.Counted(c.Rounds, "round"), c.Ended)
	fmt.Fprintf(w, "objective %.8g", c.Objective)
	if c.Gap != nil {
		fmt.Fprintf(w, ", at most %.2g above the optimum (relative: %.2g)", *c.Gap, *c.Gap/math.Abs(c.Objective))
	}
	if c.Above != nil {
		fmt.Fprintf(w, ", at most %.2g above the optimum by its gradient (relative: %.2g)", *c.Above, *c.Above/math.Abs(c.Objective))
	}
	fmt.Fprintln(w)
	if c.HeldOutRows > 0 {
		fmt.Fprintf(w, "held-out  %s rows: loss %.6g", report.Groups(c.HeldOutRows), c.HeldOutLoss)
		if r.Task == models.Classification {
			rate, interval := heldOutRate(c.HeldOutErrors, c.HeldOutRows, c.HeldOutError)
			fmt.Fprintf(w, ", error %s (95 %% interval %s)", rate, interval)
		}
		fmt.Fprintln(w)
	}
}

// heldOutRate returns the share of held-out rows that were wrong, with its interval; by weight,
// and without an interval, where rows have weights.
func heldOutRate(errors, rows int64, byWeight float64) (rate, interval string) {
	if byWeight > 0 {
		return fmt.Sprintf("%.2f %%", 100*byWeight), "-"
	}
	return fmt.Sprintf("%.2f %%", 100*float64(errors)/float64(max(1, rows))), score.PercentInterval(errors, rows)
}

func writeTrials(w io.Writer, task models.Task, path []models.Trial, chosen float64) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "\tlambda\trounds\tobjective\theld-out loss\terror\t95 %% interval\t\t\n")
	for _, t := range path {
		mark, rate, interval := "", "-", "-"
		if t.Lambda == chosen {
			mark = "<- chosen"
		}
		if task == models.Classification {
			rate, interval = heldOutRate(t.HeldOutErrors, t.HeldOutRows, t.HeldOutError)
		}
		fmt.Fprintf(tw, "\t%g\t%d\t%.6g\t%.6g\t%s\t%s\t%s\t\n", t.Lambda, t.Rounds, t.Objective, t.HeldOutLoss, rate, interval, mark)
	}
	tw.Flush()
}

package results

import (
	"fmt"
	"io"
	"math"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// writeLog prints the training log of an iterative learner.
func writeLog(w io.Writer, r *Train) {
	c := r.Log
	switch len(c.Path) {
	case 0:
		fmt.Fprintf(w, "lambda    %g\n", r.Lambda)
	case 1:
		fmt.Fprintf(w, "lambda    %g; on rows held out at first, %s:\n", r.Lambda, report.OneIn(r.Folds))
		writeTrials(w, r, c.Path, math.NaN())
	default:
		by := map[models.Task]string{models.Classification: "error", models.Regression: "loss"}[r.Task]
		fmt.Fprintf(w, "lambda    %g, by the %s of held-out rows, %s%s:\n", r.Lambda, by, report.OneIn(r.Folds),
			report.LeastOf(len(c.Path)))
		writeTrials(w, r, c.Path, r.Lambda)
	}
	partitions := report.Counted(c.Partitions, "partition")
	if c.Residual != nil {
		partitions = fmt.Sprintf("relative residual %.2g", *c.Residual)
	}
	fmt.Fprintf(w, "learner   %s, %s, %s, %s: %s\n", r.Learner, c.Loss, partitions,
		report.Counted(c.Rounds, "round"), c.Ended)
	fmt.Fprintf(w, "objective %.8g", c.Objective)
	if c.Gap != nil {
		fmt.Fprintf(w, ", at most %.2g above the optimum (relative: %.2g)", *c.Gap, *c.Gap/math.Abs(c.Objective))
	}
	if c.Above != nil {
		fmt.Fprintf(w, ", at most %.2g above the optimum by its gradient (relative: %.2g)", *c.Above,
			*c.Above/math.Abs(c.Objective))
	}
	fmt.Fprintln(w)
	if c.HeldOutRows > 0 {
		fmt.Fprintf(w, "held-out  %s rows: loss %.6g", report.Groups(c.HeldOutRows), c.HeldOutLoss)
		if r.Task == models.Classification {
			fmt.Fprintf(w, ", error %s", report.RoundsRate(r.Split, c.HeldOutErrors, c.HeldOutRows, c.HeldOutError))
		}
		fmt.Fprintln(w)
		writeStopped(w, c.HeldOutOf, "the error is the smallest after 0 to")
	}
}

// writeStopped prints that the held-out error chose among states after 0 and more rounds. what begins the sentence.
func writeStopped(w io.Writer, states int, what string) {
	if states > 1 {
		fmt.Fprintf(w, "          %s %s on these rows, so the error on new rows may be larger\n", what,
			report.Counted(states-1, "round"))
	}
}

func writeTrials(w io.Writer, r *Train, tried []models.LambdaTrial, chosen float64) {
	report.Trials(r.Task, r.Split, tried, chosen).Write(w)
	states := 0
	for _, t := range tried {
		states = max(states, t.HeldOutOf)
	}
	writeStopped(w, states, "each error is the smallest after 0 to at most")
}

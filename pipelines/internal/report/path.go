package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
)

// LeastOf returns a note that an error is the least of several.
func LeastOf(tried int) string {
	if tried < 2 {
		return ""
	}
	return fmt.Sprintf(" (the smallest of %d, so the error on new rows may be slightly larger)", tried)
}

// heldOut returns the held-out squared error and R² of targets. If only the first fold is held out and its rows
// were scored, features are not rounded, as in predictions; otherwise they are, as in sums.
func heldOut(row ridge.CVResult) (mse, r2 float64) {
	if row.Folds > 1 || row.HeldOutRows == 0 || row.MSE == 0 {
		return row.MSE, row.R2
	}
	return row.HeldOutMSE, 1 - (1-row.R2)*row.HeldOutMSE/row.MSE
}

// HalfWidth returns half the width of the 95% interval of a held-out squared error: from the spread over folds
// with quantiles of Student's t, or for one fold from the spread over its rows; 0 if unknown.
func HalfWidth(row ridge.CVResult) float64 {
	if row.Folds > 1 {
		return row.StdErr * distuv.StudentsT{Sigma: 1, Nu: float64(row.Folds - 1)}.Quantile(0.975)
	}
	return row.HeldOutStdErr * distuv.UnitNormal.Quantile(0.975)
}

// Figure is a number with its interval. Low and High are NaN if there is no interval.
type Figure struct{ Value, Low, High float64 }

// Texts formats the figure and its interval, "-" for none.
func (f Figure) Texts(write func(float64) string) (value, interval string) {
	if math.IsNaN(f.Low) {
		return write(f.Value), "-"
	}
	return write(f.Value), write(f.Low) + " to " + write(f.High)
}

// String formats a percentage with its interval.
func (f Figure) String() string {
	value, interval := f.Texts(TwoDigits)
	return fmt.Sprintf("%s%% (95%% interval %s)", value, interval)
}

// WithHalfWidth returns a figure with an interval of the given half width, clipped at 0. A half width of 0
// means no interval.
func WithHalfWidth(v, half float64) Figure {
	if half == 0 {
		half = math.NaN()
	}
	return Figure{v, max(0, v-half), v + half}
}

// TwoDigits formats a number with two digits after the point.
func TwoDigits(v float64) string { return fmt.Sprintf("%.2f", v) }

// Plain formats a number with five significant digits.
func Plain(v float64) string { return picture.Number(v, 5) }

// rateOf returns the percentage of wrong held-out rows. byWeight, unless 0, is this share by weight, and then
// has no interval. effective is the number of independent rows, 0 if all are independent.
func rateOf(wrong, rows int64, byWeight, effective float64) Figure {
	if byWeight > 0 {
		return WithHalfWidth(100*byWeight, 0)
	}
	share := float64(wrong) / float64(max(1, rows))
	if effective > 0 && effective < float64(rows) {
		wrong, rows = int64(math.Round(share*effective)), int64(math.Round(effective))
	}
	low, high := score.WilsonInterval(wrong, rows)
	return Figure{100 * share, 100 * low, 100 * high}
}

// Lambdas holds the held-out figures for each λ, for a report on a task.
type Lambdas struct {
	models.Task
	Targets int
	Rows    []ridge.CVResult
}

// Figure returns the figure that matters for the task: the percentage of errors, the RMSE of a target, or a
// mean squared error, and a function that formats it.
func (p Lambdas) Figure(row ridge.CVResult) (Figure, func(float64) string) {
	half := HalfWidth(row)
	switch {
	case p.Task == models.Classification && row.HeldOutRows > 0:
		return rateOf(row.HeldOutErrors, row.HeldOutRows, row.HeldOutError, row.HeldOutEffective), TwoDigits
	case p.Task == models.Classification:
		return WithHalfWidth(row.MSE, half), Plain
	}
	mse, _ := heldOut(row)
	rmse := math.Sqrt(mse)
	return WithHalfWidth(rmse, half/(2*max(rmse, math.SmallestNonzeroFloat64))), Plain // d√x = dx/(2√x)
}

// Name returns the name of the figure, with its unit.
func (p Lambdas) Name() string {
	switch {
	case p.Task == models.Classification && slices.ContainsFunc(p.Rows, scored):
		return "held-out error, %"
	case p.Task == models.Classification:
		return heldOutMSE
	case p.Targets > 1:
		return "held-out RMSE, standard deviations of the targets"
	}
	return "held-out RMSE, units of the target"
}

// scored reports whether errors of classes were counted.
func scored(r ridge.CVResult) bool { return r.HeldOutRows > 0 }

// heldOutMSE is the name of the mean of the squares that ridge minimises: of scores that should be 1 for the
// row's class and −1 for others. They determine the choice of λ.
const heldOutMSE = "held-out MSE of ±1 codes"

// PathTable returns a table of the cross-validation results for each λ.
func PathTable(task models.Task, targets int, rows []ridge.CVResult, chosen float64) Table {
	p := Lambdas{task, targets, rows}
	training, root := "training MSE", func(v float64) string { return Plain(v) }
	if task != models.Classification {
		training, root = "training RMSE", func(v float64) string { return Plain(math.Sqrt(v)) }
	}
	t := Table{Head: []string{"lambda", p.Name(), "95% interval", "held-out log loss", heldOutMSE, "95% interval",
		"error on fold 1", "R²", training, "folds", "failed"}}
	// A λ that was ruled out after a fold or two has errors on fewer rows than the chosen one. All have errors on
	// the first fold.
	maxFolds := 0
	for _, row := range rows {
		maxFolds = max(maxFolds, row.Folds)
	}
	differ := slices.ContainsFunc(rows, func(r ridge.CVResult) bool {
		return r.Failed == "" && r.Folds < maxFolds && r.FoldMSE > 0
	})
	for _, row := range rows {
		if row.Failed != "" {
			t.Add(fmt.Sprintf("%g", row.Lambda), "-", "-", "", "", "", "", "", "-", "-", row.Failed)
			continue
		}
		f, write := p.Figure(row)
		line := make([]string, len(t.Head))
		line[0] = fmt.Sprintf("%g", row.Lambda)
		line[1], line[2] = f.Texts(write)
		if row.HeldOutLogLoss > 0 {
			line[3] = fmt.Sprintf("%.4f", row.HeldOutLogLoss)
		}
		if t.Head[1] != heldOutMSE && task == models.Classification {
			line[4], line[5] = WithHalfWidth(row.MSE, HalfWidth(row)).Texts(Plain)
		}
		if differ {
			line[6] = root(row.FoldMSE)
		}
		if task != models.Classification {
			_, r2 := heldOut(row)
			line[7] = fmt.Sprintf("%.4f", r2)
		}
		line[8], line[9] = root(row.Train), fmt.Sprint(row.Folds)
		t.Rows = append(t.Rows, line)
		t.Mark(row.Lambda == chosen)
	}
	return t.Filled()
}

// WritePath prints the cross-validation results for each λ.
func WritePath(w io.Writer, task models.Task, targets int, rows []ridge.CVResult, chosen float64) {
	PathTable(task, targets, rows, chosen).Write(w)
	if i := slices.IndexFunc(rows, scored); i >= 0 && task == models.Classification {
		fmt.Fprintf(w, "          errors are on %s rows of one fold, predicted by the model trained without them\n",
			Groups(rows[i].HeldOutRows))
	}
}

// Trials returns a table of the values of λ that an iterative learner tried. If rows are held out by groups
// there are no intervals, because errors are not counted by group.
func Trials(task models.Task, split *profile.FoldRule, tried []models.LambdaTrial, chosen float64) Table {
	t := Table{Head: []string{"lambda", "rounds", "objective", "held-out loss", "held-out error, %", "95% interval"}}
	for _, r := range tried {
		line := []string{fmt.Sprintf("%g", r.Lambda), fmt.Sprint(r.Rounds), Plain(r.Objective), Plain(r.HeldOutLoss), "", ""}
		if task == models.Classification && r.HeldOutRows > 0 {
			line[4], line[5] = RoundsRate(split, r.HeldOutErrors, r.HeldOutRows, r.HeldOutError).Texts(TwoDigits)
		}
		t.Rows = append(t.Rows, line)
		t.Mark(r.Lambda == chosen)
	}
	return t.Filled()
}

// RoundsRate is rateOf for an iterative learner, which does not count errors by group.
func RoundsRate(split *profile.FoldRule, wrong, rows int64, byWeight float64) Figure {
	rate := rateOf(wrong, rows, byWeight, 0)
	if split != nil && split.By == profile.ByGroup {
		return WithHalfWidth(rate.Value, 0)
	}
	return rate
}

// Numbers formats a list of numbers.
func Numbers(v []float64) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(v), "[]"), " ", ", ")
}

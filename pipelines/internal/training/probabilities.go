package training

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge/discriminant"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/transforms/scores"
)

// checkCalibration refuses calibration without classes, or with too many.
func (t *Training) checkCalibration() error {
	switch {
	case !t.opts.Calibrates():
	case t.Target.Classes == nil:
		return exit.Usage("--calibrate %s is for classification; the labels are numbers (see --task)", t.opts.Calibrate)
	case t.Outputs() > spec.MaxCalibrated:
		return exit.Usage("--calibrate %s supports up to %d classes; the data has %d", t.opts.Calibrate, spec.MaxCalibrated,
			t.Outputs())
	}
	return nil
}

// scorer is a file with weights that were fitted without the held-out rows, and its SHA-256.
type scorer struct{ file, sum string }

// calibrate fits the curves of probabilities to the scores of the first of folds, in a pass over the data.
func (t *Training) calibrate(ctx context.Context, held scorer, folds int) error {
	t.Progress.Phase("calibrating", t.Counts.Used)
	defer t.Progress.Done()
	pass := &scores.Calibration{Pass: t.Pass(folds), HeldOut: scores.HeldOut{
		Folds: folds, Recipe: t.Recipe.Sealed, Outputs: t.Outputs(), Weights: held.file, SHA256: held.sum, Grid: t.scoring(),
	}}
	var counts score.CalibrationCounts
	if _, err := t.ScanSum(ctx, pass, "calibrate", &counts); err != nil {
		return err
	}
	return t.fitCurves(&counts, folds)
}

// stepRows is the number of held-out rows of each class from which on curves are isotonic step functions.
const stepRows = 1000

// leastRows is the number of held-out rows of each class, and of all other classes together, that a model needs
// to have probabilities, unless the user asked for them. With fewer rows the curve of a class may be decreasing,
// and then predictions of the class would be wrong.
const leastRows = 5

// tooFew describes a class with too few held-out rows for curves that the user did not ask for; "" if there is
// none.
func (t *Training) tooFew(c *score.CalibrationCounts) string {
	rows := classRows(c)
	for i, n := range rows {
		if least := min(n, float64(c.Rows())-n); least < leastRows {
			advice := "use more rows"
			if least > 0 { // a class without rows never has a curve
				advice += ", or --calibrate platt"
			}
			return fmt.Sprintf("%.4g of the %d held-out rows are of class %.80q; %d of each class and of others are needed: %s",
				n, c.Rows(), t.Target.Classes.Classes[i], leastRows, advice)
		}
	}
	return ""
}

// classRows returns the number of rows of each class. With weights, it divides the rows among the classes in
// proportion to the weights of their rows.
func classRows(c *score.CalibrationCounts) (rows []float64) {
	var all int64
	for _, n := range c.ClassRows() {
		all += n
	}
	for _, n := range c.ClassRows() {
		rows = append(rows, float64(n)*float64(c.Rows())/float64(max(1, all)))
	}
	return rows
}

// autoMethod returns the calibration method of auto for held-out rows with these scores.
func autoMethod(c *score.CalibrationCounts) string {
	if slices.Min(classRows(c)) < stepRows {
		return score.Platt
	}
	return score.Isotonic
}

// willCalibrate reports whether scores will be calibrated. why is the reason if auto decides that they will
// not.
func (t *Training) willCalibrate() (will bool, why string) {
	if t.Target.Classes == nil {
		return false, ""
	}
	return t.opts.Calibration(t.Outputs(), t.Recipe.Dim)
}

// noteProbabilities adds a note on why a classifier has no probabilities, unless why is "".
func (t *Training) noteProbabilities(why string) {
	if why != "" {
		t.Notes = append(t.Notes, "the model has scores, but no probabilities: "+why)
	}
}

// judgeProbabilities scores the probabilities for each λ of the table on the held-out rows. Each half of the
// rows is scored by curves that are fitted to the other half. It sets the errors in the table to the errors of
// the resulting decisions. It returns the log loss for each row of the table, 0 for rows without.
func (t *Training) judgeProbabilities(kept *score.Kept) (losses []float64, err error) {
	weights, err := t.classWeights()
	if err != nil {
		return nil, err
	}
	table, trial := t.Learner.Table, 0
	rows, all := kept.Rows()
	losses = make([]float64, len(table))
	for i := range table {
		row := &table[i]
		if row.Failed != "" {
			continue
		}
		j := kept.Judge(trial, t.keptMethod(kept.Counts(trial)), weights)
		losses[i] = j.LogLoss
		row.HeldOutErrors, row.HeldOutRows = j.Errors, rows
		if row.HeldOutError > 0 {
			row.HeldOutError = j.Error
		}
		row.HeldOutEffective *= float64(rows) / float64(max(1, all))
		if !math.IsInf(j.LogLoss, 1) {
			row.HeldOutLogLoss = j.LogLoss
		}
		trial++
	}
	return losses, nil
}

// method returns the calibration method for these scores.
func (t *Training) method(c *score.CalibrationCounts) string {
	if t.opts.Calibrates() {
		return t.opts.Calibrate
	}
	return autoMethod(c)
}

// fitProbabilities fits the curves for the chosen λ to the kept rows, unless calibrate does it in a pass.
func (t *Training) fitProbabilities() error {
	will, why := t.willCalibrate()
	if !will || t.opts.Calibrates() {
		t.noteProbabilities(why)
		return nil
	}
	trial := 0
	for _, row := range t.Learner.Table {
		if row.Lambda == t.Learner.Lambda {
			break
		}
		if row.Failed == "" {
			trial++
		}
	}
	if t.summed.kept == nil {
		t.noteProbabilities(cmp.Or(t.summed.whyNotKept, "no rows are in the first fold"))
		return nil
	}
	counts := t.summed.kept.Counts(trial)
	c := t.summed.kept.Fit(trial, t.keptMethod(counts), nil)
	if err := c.Validate(); err != nil {
		return &exit.DataError{Err: err}
	}
	return t.takeCurves(c, counts.Rows(), t.opts.Parts())
}

// keptMethod returns the calibration method for scores of kept rows. Unless the user asked for a method, it is
// score.Shared instead of score.Platt for more than two classes: with few rows, separate curves would move the
// decisions between classes more than the rows justify.
func (t *Training) keptMethod(c *score.CalibrationCounts) string {
	if m := t.method(c); m != score.Platt || t.opts.Calibrates() || t.Outputs() == 2 {
		return m
	}
	return score.Shared
}

// fitCurves fits the curves to scores of the first of folds. If these rows are too few, the model has no
// probabilities, unless the user asked for them.
func (t *Training) fitCurves(counts *score.CalibrationCounts, folds int) error {
	switch err := score.CheckCalibration(counts.ClassRows(), t.Target.Classes.Classes); {
	case !t.opts.Calibrates():
		if why := t.tooFew(counts); why != "" {
			t.noteProbabilities(why)
			return nil
		}
	case err != nil:
		return &exit.DataError{Err: err}
	}
	c, err := score.FitCalibration(counts, t.method(counts))
	if err != nil {
		return &exit.DataError{Err: err}
	}
	if t.shapes = nil; c.Method == score.Platt && t.opts.Calibrates() {
		t.shapes = discriminant.Shapes(c.Curves, t.summed.fit.Discriminants)
	}
	return t.takeCurves(c, counts.Rows(), folds)
}

// takeCurves sets the probabilities of the model to curves that were fitted to that many held-out rows.
func (t *Training) takeCurves(c *score.Calibration, rows int64, folds int) error {
	weights, err := t.classWeights()
	t.probabilities = &models.Probabilities{Kind: c.Method, Curves: c.Curves, Rows: rows, Folds: folds, Weights: weights}
	return err
}

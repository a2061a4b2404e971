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

// checkCalibration refuses to calibrate without classes, or with too many.
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

// scorer is a file of weights that were fitted without the held-out rows, with its SHA-256.
type scorer struct{ file, sum string }

// calibrate fits the curves of the probabilities to the scores of the first of that many folds,
// in a pass over the data.
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

// stepRows is the number of held-out rows of each class from which on curves are steps.
const stepRows = 1000

// leastRows is the number of held-out rows of each class, and of others, that curves need unless they were
// asked for: those of fewer may fall, and the class would never be predicted, or in the wrong places.
const leastRows = 5

// tooFew says which class has too few held-out rows for curves that were not asked for; "" for none.
func (t *Training) tooFew(c *score.CalibrationCounts) string {
	rows := classRows(c)
	for i, n := range rows {
		if least := min(n, float64(c.Rows())-n); least < leastRows {
			advice := "use more rows"
			if least > 0 { // without any, curves cannot be asked for
				advice += ", or --calibrate platt"
			}
			return fmt.Sprintf("%.4g of the %d held-out rows are of class %.80q; %d of each class and of others are needed: %s",
				n, c.Rows(), t.Target.Classes.Classes[i], leastRows, advice)
		}
	}
	return ""
}

// classRows returns the number of rows of each class; of rows with weights, as many as their share.
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

// autoMethod returns the method for held-out rows with these scores.
func autoMethod(c *score.CalibrationCounts) string {
	if slices.Min(classRows(c)) < stepRows {
		return score.Platt
	}
	return score.Isotonic
}

// probable tells whether scores will be calibrated, and if not though it was left to the training, why.
func (t *Training) probable() (will bool, why string) {
	if t.Target.Classes == nil {
		return false, ""
	}
	return t.opts.Calibration(t.Outputs(), t.Recipe.Dim)
}

// noteProbabilities notes why a classifier has no probabilities.
func (t *Training) noteProbabilities(why string) {
	if why != "" {
		t.Notes = append(t.Notes, "the model has scores, but no probabilities: "+why)
	}
}

// judgeProbabilities judges the probabilities of each λ of the table on the held-out rows, each half of them
// by curves that are fitted to the other half. The errors of the table become the errors of these
// decisions, which are those of the model. It returns the log loss of each row of the table, 0 of those
// without.
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

// method returns how curves are fitted to these scores.
func (t *Training) method(c *score.CalibrationCounts) string {
	if t.opts.Calibrates() {
		return t.opts.Calibrate
	}
	return autoMethod(c)
}

// fitProbabilities fits the curves of the chosen λ to the kept rows, unless a pass does it.
func (t *Training) fitProbabilities() error {
	will, why := t.probable()
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
		t.noteProbabilities(cmp.Or(t.summed.few, "no rows are in the first fold"))
		return nil
	}
	counts := t.summed.kept.Counts(trial)
	c := t.summed.kept.Fit(trial, t.keptMethod(counts), nil)
	if err := c.Validate(); err != nil {
		return &exit.DataError{Err: err}
	}
	return t.takeCurves(c, counts.Rows(), t.opts.Parts())
}

// keptMethod returns how curves are fitted to these scores of kept rows: few rows of many classes would move
// the borders between these more than they tell.
func (t *Training) keptMethod(c *score.CalibrationCounts) string {
	if m := t.method(c); m != score.Platt || t.opts.Calibrates() || t.Outputs() == 2 {
		return m
	}
	return score.Shared
}

// fitCurves fits the curves to scores of held-out rows, the first of that many folds. Where these are
// too few the model has no probabilities, unless they were asked for.
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

// takeCurves gives the model curves that are fitted to that many held-out rows.
func (t *Training) takeCurves(c *score.Calibration, rows int64, folds int) error {
	weights, err := t.classWeights()
	t.probabilities = &models.Probabilities{Kind: c.Method, Curves: c.Curves, Rows: rows, Folds: folds, Weights: weights}
	return err
}

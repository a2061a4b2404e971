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
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// calibrate fits the curves of probabilities to held-out scores, in a pass over the data.
func (d *deciding) calibrate(ctx context.Context, held weightsFile) error {
	t := d.training
	t.Job.Progress.Phase("calibrating", t.Prepared.Counts.Used)
	defer t.Job.Progress.Done()
	pass := &scoring.Calibration{Pass: t.Pass(d.folds), HeldOut: d.scoring(held, 0)}
	var counts score.CalibrationCounts
	if _, err := t.Job.ScanSum(ctx, pass, "calibrate", &counts); err != nil {
		return err
	}
	return d.fitCurves(&counts)
}

// stepRows is the number of held-out rows of each class that isotonic step functions need.
const stepRows = 1000

// leastRows is the number of held-out rows of each class, and of all other classes together, that a model needs
// to have probabilities, unless the user asked for them. With fewer rows the curve of a class may be decreasing,
// and then predictions of the class would be wrong.
const leastRows = 5

// tooFew describes a class with too few held-out rows for curves that the user did not ask for; "" if there is
// none.
func (d *deciding) tooFew(c *score.CalibrationCounts) string {
	rows := classRows(c)
	for i, n := range rows {
		if least := min(n, float64(c.Rows())-n); least < leastRows {
			advice := "use more rows"
			if least > 0 { // a class without rows never has a curve
				advice += ", or --calibrate platt"
			}
			return fmt.Sprintf("%.4g of the %d held-out rows are of class %.80q; %d of each class and of others are needed: %s",
				n, c.Rows(), d.training.classes()[i], leastRows, advice)
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

// willCalibrate reports whether scores will be calibrated. why is the reason if auto decides that they will
// not.
func (t *Training) willCalibrate() (will bool, why string) {
	if t.Prepared.Target.Classes == nil {
		return false, ""
	}
	return t.spec.Calibration(t.Prepared.Outputs(), t.Prepared.Recipe.Dim)
}

// noteProbabilities adds a note on why a classifier has no probabilities, unless why is "".
func (t *Training) noteProbabilities(why string) {
	if why != "" {
		t.AddNotef("the model has scores, but no probabilities: %s", why)
	}
}

// judgeProbabilities scores the probabilities for each λ of the table on the kept rows. Each half of the rows is
// scored by curves that are fitted to the other half. It sets the errors in the table to the errors of the resulting
// decisions. It returns the log loss for each row of the table, 0 for rows without.
func (d *deciding) judgeProbabilities() (losses []float64) {
	table, trial, kept := d.fit.Learner.Table, 0, d.kept
	rows, all := kept.Rows()
	losses = make([]float64, len(table))
	for i := range table {
		row := &table[i]
		if row.Failed != "" {
			continue
		}
		v := kept.Evaluate(trial, d.keptMethod(kept.Counts(trial)), d.classWeights)
		losses[i] = v.LogLoss
		row.HeldOutErrors, row.HeldOutRows = v.Errors, rows
		if row.HeldOutError > 0 {
			row.HeldOutError = v.Error
		}
		row.HeldOutEffective *= float64(rows) / float64(max(1, all))
		if !math.IsInf(v.LogLoss, 1) {
			row.HeldOutLogLoss = v.LogLoss
		}
		trial++
	}
	return losses
}

// method returns the calibration method for these scores.
func (d *deciding) method(c *score.CalibrationCounts) score.Method {
	switch {
	case d.training.spec.Calibrates():
		return d.training.spec.Calibrate
	case slices.Min(classRows(c)) < stepRows:
		return score.Platt
	}
	return score.Isotonic
}

// fitProbabilities fits the curves for the chosen λ to the kept rows, unless calibrate does it in a pass.
func (d *deciding) fitProbabilities() error {
	t := d.training
	will, why := t.willCalibrate()
	if !will || t.spec.Calibrates() {
		t.noteProbabilities(why)
		return nil
	}
	kept := d.kept
	if kept == nil {
		t.noteProbabilities(cmp.Or(d.whyNotKept, "no rows are in the first fold"))
		return nil
	}
	_, trial := d.fit.tried()
	counts := kept.Counts(trial)
	c := kept.Fit(trial, d.keptMethod(counts), nil)
	if err := c.Validate(); err != nil {
		return &exit.DataError{Err: err}
	}
	d.takeCurves(c, counts.Rows())
	return nil
}

// keptMethod returns the calibration method for scores of kept rows. Unless the user asked for a method, it is
// score.SharedPlatt instead of score.Platt for more than two classes: with few rows, separate curves would move the
// decisions between classes more than the rows justify.
func (d *deciding) keptMethod(c *score.CalibrationCounts) score.Method {
	if m := d.method(c); m != score.Platt || d.training.spec.Calibrates() || d.training.Prepared.Outputs() == 2 {
		return m
	}
	return score.SharedPlatt
}

// fitCurves fits the curves to held-out scores. If these rows are too few, the model has no probabilities, unless the
// user asked for them.
func (d *deciding) fitCurves(counts *score.CalibrationCounts) error {
	t := d.training
	if !t.spec.Calibrates() {
		if why := d.tooFew(counts); why != "" {
			t.noteProbabilities(why)
			return nil
		}
	} else if err := score.CheckCalibration(counts.ClassRows(), t.classes()); err != nil {
		return &exit.DataError{Err: err}
	}
	c := counts.Fit(d.method(counts))
	if err := c.Validate(); err != nil {
		return &exit.DataError{Err: err}
	}
	if c.Method == score.Platt && t.spec.Calibrates() {
		d.fit.shapes = discriminant.Shapes(c.Curves, d.discriminants)
	}
	d.takeCurves(c, counts.Rows())
	return nil
}

// takeCurves sets the probabilities of the model to curves that were fitted to the given number of held-out rows.
func (d *deciding) takeCurves(c *score.Calibration, rows int64) {
	d.fit.probabilities = &models.Probabilities{Kind: c.Method, Curves: c.Curves, Rows: rows, Folds: d.folds,
		Weights: d.classWeights}
}

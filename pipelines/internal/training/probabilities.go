package training

import (
	"context"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/transforms/scores"
)

// maxCalibrated is the largest number of classes that can be calibrated: each takes 64 KiB on
// every worker.
const maxCalibrated = 1000

// checkCalibration refuses to calibrate without classes, or with too many.
func (t *Training) checkCalibration() error {
	switch {
	case t.opts.Calibrate == "":
	case t.Target.Classes == nil:
		return exit.Usage("--calibrate %s is for classification; the labels are numbers (see --task)", t.opts.Calibrate)
	case t.Outputs() > maxCalibrated:
		return exit.Usage("--calibrate %s supports up to %d classes; the data has %d", t.opts.Calibrate, maxCalibrated,
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
	if err := score.CheckCalibration(counts.ClassRows(), t.Target.Classes.Classes); err != nil {
		return &exit.DataError{Err: err}
	}
	c, err := score.FitCalibration(&counts, t.opts.Calibrate)
	if err != nil {
		return &exit.DataError{Err: err}
	}
	t.shapes = nil
	if d := t.summed.fit.Discriminants; c.Method == score.Platt && len(d) == len(c.Curves) {
		for o, v := range c.Curves {
			t.shapes = append(t.shapes, score.ShapeOf(v, d[o]))
		}
	}
	weights, err := t.classWeights()
	t.probabilities = &models.Probabilities{Kind: c.Method, Curves: c.Curves, Rows: counts.Rows(), Folds: folds,
		Weights: weights}
	return err
}

// checkCalibration refuses to fit probabilities to sums where they, or the recipe, do not tell enough.
func (a ByRecipe) checkCalibration() error {
	r := a.Recipe
	switch {
	case a.Calibrate == "":
	case a.Calibrate == score.Isotonic:
		return exit.Usage("--calibrate %s needs the scores of rows, which sums do not have; use --calibrate platt, whose "+
			"curves follow from sums and a recipe, or train on the rows", a.Calibrate)
	case a.Calibrate != score.Platt:
		return exit.Usage("--calibrate must be none or platt (have %q)", a.Calibrate)
	case r.Task != models.Classification:
		return exit.Usage("--calibrate %s is for classification; the recipe is for %s", a.Calibrate, r.Task)
	case r.Profile.Shapes == nil:
		return exit.Usage("--calibrate %s: sums tell where the curves of probabilities lie and how steep they are, but not "+
			"their shape, and the recipe was made without --calibrate platt; make one with it, and sum the rows by that",
			a.Calibrate)
	}
	return nil
}

// calibrateBySums gives the model probabilities by Platt's method from sums: the discriminants of the
// first fold, by weights fitted without it, with the shapes of the curves of the recipe.
func (t *Training) calibrateBySums() error {
	fit, folds := t.summed.fit, t.given.Recipe.Rule.FoldPlan().Parts()
	if fit.FirstRows == 0 {
		return exit.Refuse("pipelines: none of %s rows is in the first of %d folds, whose scores give the probabilities; add "+
			"sums of more rows, or leave out --calibrate", report.Groups(fit.Rows), folds)
	}
	t.probabilities = &models.Probabilities{Kind: score.Platt, Rows: fit.FirstRows, Folds: folds,
		Curves: t.given.Recipe.Curves(t.Target.Classes.Classes, fit.Discriminants), Weights: t.Learner.ClassWeights}
	return nil
}

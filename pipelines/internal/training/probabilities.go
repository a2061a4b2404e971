package training

import (
	"context"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge/discriminant"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
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
	if c.Method == score.Platt {
		t.shapes = discriminant.Shapes(c.Curves, t.summed.fit.Discriminants)
	}
	weights, err := t.classWeights()
	t.probabilities = &models.Probabilities{Kind: c.Method, Curves: c.Curves, Rows: counts.Rows(), Folds: folds,
		Weights: weights}
	return err
}

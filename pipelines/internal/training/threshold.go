package training

import (
	"context"
	"fmt"
	"strconv"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/transforms/scores"
)

// checkThreshold sets the positive class. It returns an error if one, or a threshold, is given and there are
// not two classes.
func (t *Training) checkThreshold() (err error) {
	if t.positive, err = t.PositiveClass(t.opts.Positive); err != nil {
		return err
	}
	switch {
	case t.opts.Threshold == "":
	case t.Target.Classes == nil:
		return exit.Usage("--threshold decides between two classes; the labels are numbers (see --task)")
	case t.Outputs() != 2:
		return exit.Usage("--threshold decides between two classes; the data has %d", t.Outputs())
	default:
		return t.decide(t.futureManifest())
	}
	return nil
}

// futureManifest returns a manifest with the task, classes and targets of the model to come. Its Probabilities
// are not nil if it will have probabilities.
func (t *Training) futureManifest() *models.Manifest {
	m := &models.Manifest{Task: models.Regression, Outputs: t.Outputs(),
		Input: models.Input{Label: t.Data.Label, Labels: t.Data.Targets}}
	if t.Target.Classes != nil {
		m.Task, m.Vocabulary, m.Positive = models.Classification, t.Target.Classes, t.positive
	}
	if will, _ := t.willCalibrate(); will {
		m.Probabilities = new(models.Probabilities)
	} else if b, ok := t.opts.Rounds(); ok {
		m.Probabilities = byRounds{b}.probabilities(t)
	}
	return m
}

// useHeldOut fits the curves of probabilities, the threshold and the intervals to the first of folds. held has
// weights that were fitted without this fold.
func (t *Training) useHeldOut(ctx context.Context, held scorer, folds int) error {
	if t.opts.Calibrates() {
		if err := t.calibrate(ctx, held, folds); err != nil {
			return err
		}
	}
	if t.opts.ChoosesThreshold() {
		if err := t.chooseThreshold(ctx, held, folds); err != nil {
			return err
		}
	}
	return t.addIntervals(ctx, held, folds)
}

// chooseThreshold does the part of useHeldOut for the threshold.
func (t *Training) chooseThreshold(ctx context.Context, held scorer, folds int) error {
	t.Progress.Phase("choosing the threshold", t.Counts.Used)
	defer t.Progress.Done()
	pass := &scores.Threshold{Pass: t.Pass(folds), HeldOut: scores.HeldOut{
		Folds: folds, Recipe: t.Recipe.Sealed, Outputs: t.Outputs(), Weights: held.file, SHA256: held.sum, Grid: t.scoring(),
	}, Probabilities: t.probabilities, Positive: t.futureManifest().PositiveClass()}
	var counts score.Halves
	if _, err := t.ScanSum(ctx, pass, "threshold", &counts); err != nil {
		return err
	}
	by, usual, of := score.Criterion(t.opts.Threshold), float32(0), models.OfScore
	if t.probabilities != nil {
		usual, of = t.probabilities.Usual(t.futureManifest().PositiveClass()), models.OfProbability
	}
	value, expected, plain, err := counts.Choose(by, usual)
	if err != nil {
		return &exit.DataError{Err: err}
	}
	n := counts.Rows()
	t.threshold = &models.Threshold{Value: value, Of: of, By: by, Rows: n[0] + n[1], Folds: folds, Expected: expected,
		Plain: plain}
	return nil
}

// decide sets the threshold of the model.
func (t *Training) decide(m *models.Manifest) (err error) {
	m.Threshold = t.threshold
	if value, bad := strconv.ParseFloat(t.opts.Threshold, 64); bad == nil {
		if m.Threshold, err = models.NewThreshold(value, m); err != nil {
			return &exit.UsageError{Err: fmt.Errorf("--threshold: %w", err)}
		}
	}
	return nil
}

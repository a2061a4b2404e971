package training

import (
	"context"
	"fmt"
	"strconv"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge/discriminant"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// deciding sets the decision of a fit by the first fold, which was not used to fit the weights that score it.
type deciding struct {
	training     *Training
	fit          *Fit
	folds        int       // that assign rows; 0 for none
	classWeights []float64 // in the loss; nil if all are 1
	// From sums: the scores of classes in the first fold, and the fits without it for each λ that was tried.
	discriminants []discriminant.Discriminant
	trials        weightsFile
	kept          *score.HeldOutScores // held-out rows with scores by all fits, for probabilities; nil for none
	whyNotKept    string               // why kept is nil
	groups        int64                // number of groups of dependent held-out rows; 0 if rows are independent
}

// weightsFile is a file with weights that were fitted without the held-out rows. The zero value stands for none.
type weightsFile struct{ name, sha256 string }

// decide fits the curves of probabilities, the threshold and the intervals. held has the weights of the fit
// without the first fold.
func (d *deciding) decide(ctx context.Context, held weightsFile) error {
	if d.training.spec.Calibrates() {
		if err := d.calibrate(ctx, held); err != nil {
			return err
		}
	}
	if d.training.spec.ChoosesThreshold() {
		if err := d.chooseThreshold(ctx, held); err != nil {
			return err
		}
	}
	return d.addIntervals(ctx, held)
}

// scoring describes, for a pass, the first fold and the number of fits that score it.
func (d *deciding) scoring(w weightsFile, fits int) scoring.HeldOut {
	p := d.training.Prepared
	return scoring.HeldOut{Folds: d.folds, Recipe: p.Recipe.Sealed, Outputs: p.Outputs(), Fits: fits, Weights: w.name,
		SHA256: w.sha256, Grid: profile.NewWeightGrid(p.Weights(), nil, nil)} // classes have no weights in scores
}

// futureManifest returns a manifest with the task, classes and targets of the model to come. Its Probabilities
// are not nil if it will have probabilities.
func (t *Training) futureManifest() *models.Manifest {
	p := t.Prepared
	m := &models.Manifest{Task: models.Regression, Outputs: p.Outputs(),
		Input: models.Input{Label: p.Data.Label, Labels: p.Data.Targets}}
	if p.Target.Classes != nil {
		m.Task, m.Vocabulary, m.Positive = models.Classification, p.Target.Classes, t.positive
	}
	if will, _ := t.willCalibrate(); will {
		m.Probabilities = new(models.Probabilities)
	} else {
		m.Probabilities = t.lossProbabilities()
	}
	return m
}

// chooseThreshold chooses the threshold by held-out scores, in a pass over the data.
func (d *deciding) chooseThreshold(ctx context.Context, held weightsFile) error {
	t := d.training
	t.Job.Progress.Phase("choosing the threshold", t.Prepared.Counts.Used)
	defer t.Job.Progress.Done()
	positive := t.futureManifest().PositiveClass()
	pass := &scoring.Threshold{Pass: t.Pass(d.folds), HeldOut: d.scoring(held, 0), Probabilities: d.fit.probabilities,
		Positive: positive}
	var counts score.ThresholdCounts
	if _, err := t.Job.ScanSum(ctx, pass, "threshold", &counts); err != nil {
		return err
	}
	by := score.Criterion(t.spec.Threshold)
	usual, scale := float32(0), models.OfScore
	if d.fit.probabilities != nil {
		usual, scale = d.fit.probabilities.DefaultThreshold(positive), models.OfProbability
	}
	value, expected, plain, err := counts.Choose(by, usual)
	if err != nil {
		return &exit.DataError{Err: err}
	}
	d.fit.threshold = &models.Threshold{Value: value, Of: scale, By: by, Rows: counts.Rows, Folds: d.folds,
		Expected: expected, Plain: plain}
	return nil
}

// givenThreshold returns the threshold that the user gives as a number, for a model with that manifest. It returns
// nil for none.
func (t *Training) givenThreshold(m *models.Manifest) (*models.Threshold, error) {
	value, err := strconv.ParseFloat(t.spec.Threshold, 64)
	if err != nil {
		return nil, nil
	}
	given, err := models.NewThreshold(value, m)
	if err != nil {
		return nil, &exit.UsageError{Err: fmt.Errorf("--threshold: %w", err)}
	}
	return given, nil
}

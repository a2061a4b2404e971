package spec

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// Values of Options.Calibrate besides the methods: AutoCalibrate is for probabilities if rows are held out
// anyway.
const (
	AutoCalibrate = "auto"
	noCalibration = "none"
)

// MaxCalibrated is the largest number of classes that can be calibrated: each takes 64 KiB on
// every worker. Up to MaxKept classes, the pass that scores the trials of ridge keeps rows for it.
const (
	MaxCalibrated = 1000
	MaxKept       = 100
)

// Calibrates reports whether the user asked for probabilities by a method.
func (o Options) Calibrates() bool {
	return o.Calibrate == score.Platt || o.Calibrate == score.Isotonic
}

// LossProbabilities returns the kind of probabilities that the loss makes of the scores of classes, "" for
// none.
func (o Options) LossProbabilities() string {
	if b, ok := o.Rounds(); ok {
		if name := cmp.Or(b.Common().Loss, b.DefaultLoss(true)); name == models.Softmax || name == models.Logistic {
			return name
		}
	}
	return ""
}

// Calibration reports whether the scores of that many classes are calibrated. why is the reason if auto decides
// that they are not.
func (o Options) Calibration(classes, features int) (calibrates bool, why string) {
	if o.Calibrates() {
		return true, ""
	}
	if o.Calibrate != AutoCalibrate || o.LossProbabilities() != "" {
		return false, ""
	}
	_, folds := o.Values(1)
	number, err := strconv.ParseFloat(o.Threshold, 64)
	switch {
	case err == nil && !(number > 0 && number < 1):
		return false, "--threshold " + o.Threshold + " is for scores; a threshold of probabilities is between 0 and 1"
	case folds < 2:
		return false, "with one lambda, no rows are held out to fit them to; --folds 5 or --calibrate platt holds out rows"
	case classes > MaxCalibrated:
		return false, fmt.Sprintf("there are more than %d classes", MaxCalibrated)
	case o.Ridge() != nil && !o.keepsScores(classes, features):
		return false, "for so many classes and features they need a separate pass, which --calibrate platt adds"
	}
	return true, ""
}

// keepsScores reports whether ridge scores held-out rows for all values of λ, and keeps the scores.
func (o Options) keepsScores(classes, features int) bool {
	lambda, _ := o.Lambda.Values(1)
	return classes <= MaxKept && ridge.TrialBytes(ridge.Shape{Dim: features, Outputs: classes},
		len(lambda)+len(ridge.SmallerLambda())) <= ridge.MaxTrialBytes
}

// CalibrationPass reports whether a separate pass over the data calibrates the scores of that many classes.
func (o Options) CalibrationPass(classes, features int) bool {
	calibrates, _ := o.Calibration(classes, features)
	return calibrates && (o.Calibrates() || o.Ridge() == nil)
}

// validateCalibration checks Calibrate as far as possible without data.
func (o Options) validateCalibration() error {
	switch o.Calibrate {
	case "", AutoCalibrate, noCalibration:
	case score.Platt, score.Isotonic:
		if o.Lambda.Folds == 1 {
			return exit.Usage("--calibrate %s: the curves are fitted to the held-out first fold; --folds must be 2 or more, "+
				"or left out", o.Calibrate)
		}
	default:
		names := []string{AutoCalibrate, noCalibration, score.Platt, score.Isotonic}
		return exit.Usage("--calibrate must be auto, none, platt or isotonic (have %q)%s", o.Calibrate,
			option.DidYouMean(o.Calibrate, names))
	}
	return nil
}

// CheckSummed returns an error if sums of the recipe do not have what the calibration needs. calibrate is
// platt, or none or "".
func CheckSummed(calibrate string, r *sums.Recipe) error {
	switch {
	case calibrate == "", calibrate == noCalibration, calibrate == AutoCalibrate:
	case calibrate == score.Isotonic:
		return exit.Usage("--calibrate %s needs the scores of rows, which sums do not have; use --calibrate platt, whose "+
			"curves follow from sums and a recipe, or train on the rows", calibrate)
	case calibrate != score.Platt:
		return exit.Usage("--calibrate must be auto, none or platt (have %q)", calibrate)
	case r.Task != models.Classification:
		return exit.Usage("--calibrate %s is for classification; the recipe is for %s", calibrate, r.Task)
	case r.Profile.Shapes == nil:
		return exit.Usage("--calibrate %s: sums tell where the curves of probabilities lie and how steep they are, but not "+
			"their shape, and the recipe was made without --calibrate platt; make one with it, and sum the rows by that",
			calibrate)
	}
	return nil
}

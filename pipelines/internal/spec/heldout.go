package spec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// FoldCount returns the number of folds if rows are held out to choose λ, to stop rounds, to fit the curves of
// probabilities, or to choose a threshold. It is 0 if no rows are held out.
func (o Options) FoldCount() int {
	_, folds := o.Values(1)
	switch {
	case o.rule != nil && (folds > 1 || o.FitsWithoutFirst()):
		return o.rule.Folds
	case folds > 1:
		return folds
	case o.FitsWithoutFirst():
		return DefaultFolds
	}
	return 0
}

// FitsWithoutFirst reports whether weights are also fitted without the first fold, to fit the curves of probabilities
// or a threshold to its scores.
func (o Options) FitsWithoutFirst() bool { return o.CalibrationRequested() || o.ChoosesThreshold() }

// ChoosesThreshold reports whether held-out rows choose the threshold.
func (o Options) ChoosesThreshold() bool { return score.Criterion(o.Threshold).Validate() == nil }

// validateSplit checks the options that assign rows to folds, as far as possible without data.
func (o Options) validateSplit() error {
	switch by := o.Split.By(); {
	case by == profile.ByFold && o.Lambda.Folds > 0:
		return exit.Usagef("--folds cannot be used with --fold_column, which says how many folds there are")
	case o.Split.Gap != "" && (o.Iterative() != nil || o.LearnsFeatures()):
		return exit.Usagef("--time_gap is for learner ridge with features that are not learned by rounds")
	case by != "" && o.LearnedDir() != "":
		return exit.Usagef("--frequencies cannot be used with %s: align held out rows by their content; train with "+
			"--kernel learned", o.Split.Flag())
	}
	return nil
}

// validateThreshold checks Threshold as far as possible without data.
func (o Options) validateThreshold() error {
	if o.Threshold == "" {
		return nil
	}
	if o.ChoosesThreshold() {
		if o.Lambda.Folds == 1 {
			return exit.Usagef("--threshold %s: the held-out first fold chooses it; --folds must be 2 or more, or left out",
				o.Threshold)
		}
		return nil
	}
	switch v, err := strconv.ParseFloat(o.Threshold, 32); {
	case errors.Is(err, strconv.ErrSyntax):
		err := score.Criterion(o.Threshold).Validate()
		return exit.Usagef("--threshold: %s, or a number", strings.TrimPrefix(err.Error(), "score: "))
	case !exact.Finite(v):
		return exit.Usagef("--threshold %s is not a finite float32 number", o.Threshold)
	}
	return nil
}

// validateIntervals checks Intervals.
func (o Options) validateIntervals() error {
	names := option.Names(options.IntervalsScaled, options.IntervalsPlain, options.IntervalsNone)
	if o.Intervals != "" && !slices.Contains(names, string(o.Intervals)) {
		return exit.Usagef("--intervals must be %s (have %q)%s", strings.Join(names, ", "), o.Intervals,
			option.DidYouMean(string(o.Intervals), names))
	}
	return nil
}

// CheckTargets returns an error if rows have several targets and an option supports only one.
func (o Options) CheckTargets(d *dataset.Dataset) error {
	if len(d.Targets) == 0 {
		return nil
	}
	labels := fmt.Sprintf("--label gives %d columns (%s)", len(d.Targets), report.SomeOf(d.Targets))
	switch {
	case o.LearnsFeatures():
		return exit.Usagef("%s, and learned features need one label: train them for one of the columns and name the result "+
			"with --frequencies, or use another --kernel", labels)
	case o.Iterative() != nil:
		return exit.Usagef("%s, and learner %s takes one; learner ridge takes several", labels, o.LearnerName())
	}
	return nil
}

// CheckLabels returns an error if an option does not suit the number of classes, which is 0 if labels are numbers,
// or the number of features.
func (o Options) CheckLabels(classes, features int) error {
	if err := o.checkLoss(classes > 0); err != nil {
		return err
	}
	l := o.Lambda
	lambda, _ := LambdaValues(l, 1)
	trials := ridge.TrialBytes(ridge.Shape{Dim: features, Outputs: classes}, len(lambda)+len(ridge.SmallerLambda()))
	switch {
	case o.CalibrationRequested() && classes == 0:
		return exit.Usagef("--calibrate %s is for classification; the labels are numbers (see --task)", o.Calibrate)
	case o.CalibrationRequested() && classes > maxCalibrated:
		return exit.Usagef("--calibrate %s supports up to %d classes; the data has %d", o.Calibrate, maxCalibrated, classes)
	case o.Threshold != "" && classes == 0:
		return exit.Usagef("--threshold decides between two classes; the labels are numbers (see --task)")
	case o.Threshold != "" && classes != 2:
		return exit.Usagef("--threshold decides between two classes; the data has %d", classes)
	case l.Selects() && classes == 0:
		return exit.Usagef("--select %s is for classification; the labels are numbers (see --task)", l.Select)
	case l.Selects() && o.Ridge() != nil && trials > ridge.MaxTrialBytes:
		return exit.Usagef("--select %s keeps the weights of all values of lambda, which take %s, more than %s; use fewer "+
			"features, or --select mse", l.Select, report.Bytes(trials), report.Bytes(ridge.MaxTrialBytes))
	}
	return nil
}

// checkLoss returns an error if a loss is given that does not suit the labels.
func (o Options) checkLoss(classes bool) error {
	b, ok := o.Rounds()
	if !ok || b.Common().Loss == "" {
		return nil
	}
	given, names := b.Common().Loss, loss.Names(classes)
	if slices.Contains(names, given) {
		return nil
	}
	labels := "numbers"
	if classes {
		labels = "classes"
	}
	return exit.Usagef("--loss %s is not for labels that are %s (see --task)%s; use one of %s", given, labels,
		option.DidYouMean(given, names), strings.Join(names, ", "))
}

// CheckWeights returns an error if rows have weights that the learner does not support.
func (o Options) CheckWeights(w *profile.Weights) error {
	if w.Equal() || iterative.DefinitionOf(o.learner()).Weighted {
		return nil
	}
	return exit.Usagef("learner %s takes no rows with weights", o.LearnerName())
}

// maxCalibrated is the largest number of classes that can be calibrated: each takes 64 KiB on
// every worker. Up to score.MaxHeldOutClasses classes, the pass that scores the trials of ridge keeps rows for it.
const maxCalibrated = 1000

// CalibrationRequested reports whether the user asked for probabilities by a method.
func (o Options) CalibrationRequested() bool {
	return o.Calibrate == options.CalibrationPlatt || o.Calibrate == options.CalibrationIsotonic
}

// LossProbabilities returns the kind of probabilities that the loss makes of the scores of classes, "" for
// none.
func (o Options) LossProbabilities() score.Method {
	if b, ok := o.Rounds(); ok {
		if name := cmp.Or(b.Common().Loss, b.DefaultLoss(true)); name == models.Softmax || name == models.Logistic {
			return score.Method(name)
		}
	}
	return ""
}

// WillCalibrate reports whether the scores of a classifier will be calibrated. why is the reason if auto decides
// that they will not.
func (o Options) WillCalibrate(classes, features int) (calibrates bool, why string) {
	if o.CalibrationRequested() {
		return true, ""
	}
	if o.Calibrate != options.CalibrationAuto || o.LossProbabilities() != "" {
		return false, ""
	}
	_, folds := o.Values(1)
	number, err := strconv.ParseFloat(o.Threshold, 64)
	switch {
	case err == nil && !(number > 0 && number < 1):
		return false, "--threshold " + o.Threshold + " is for scores; a threshold of probabilities is between 0 and 1"
	case folds < 2:
		return false, "with one lambda, no rows are held out to fit them to; --folds 5 or --calibrate platt holds out rows"
	case classes > maxCalibrated:
		return false, fmt.Sprintf("there are more than %d classes", maxCalibrated)
	case o.Ridge() != nil && !o.keepsScores(classes, features):
		return false, "for so many classes and features they need a separate pass, which --calibrate platt adds"
	}
	return true, ""
}

// keepsScores reports whether ridge scores held-out rows for all values of λ, and keeps the scores.
func (o Options) keepsScores(classes, features int) bool {
	lambda, _ := LambdaValues(o.Lambda, 1)
	return classes <= score.MaxHeldOutClasses && ridge.TrialBytes(ridge.Shape{Dim: features, Outputs: classes},
		len(lambda)+len(ridge.SmallerLambda())) <= ridge.MaxTrialBytes
}

// CalibrationPass reports whether a separate pass over the data calibrates the scores of a classifier.
func (o Options) CalibrationPass(classes, features int) bool {
	calibrates, _ := o.WillCalibrate(classes, features)
	return calibrates && (o.CalibrationRequested() || o.Ridge() == nil)
}

// validateCalibration checks Calibrate as far as possible without data.
func (o Options) validateCalibration() error {
	switch o.Calibrate {
	case "", options.CalibrationAuto, options.CalibrationNone:
	case options.CalibrationPlatt, options.CalibrationIsotonic:
		if o.Lambda.Folds == 1 {
			return exit.Usagef("--calibrate %s: the curves are fitted to the held-out first fold; --folds must be 2 or more, "+
				"or left out", o.Calibrate)
		}
	default:
		names := option.Names(options.CalibrationAuto, options.CalibrationNone, options.CalibrationPlatt, options.CalibrationIsotonic)
		return exit.Usagef("--calibrate must be auto, none, platt or isotonic (have %q)%s", o.Calibrate,
			option.DidYouMean(string(o.Calibrate), names))
	}
	return nil
}

// CheckSummed returns an error if sums of the recipe do not have what the calibration needs. calibrate is
// platt, auto, none or "".
func CheckSummed(calibrate options.Calibration, r *sums.Recipe) error {
	switch {
	case calibrate == "", calibrate == options.CalibrationNone, calibrate == options.CalibrationAuto:
	case calibrate == options.CalibrationIsotonic:
		return exit.Usagef("--calibrate %s needs the scores of rows, which sums do not have; use --calibrate platt, whose "+
			"curves follow from sums and a recipe, or train on the rows", calibrate)
	case calibrate != options.CalibrationPlatt:
		return exit.Usagef("--calibrate must be auto, none or platt (have %q)", calibrate)
	case r.Task != models.Classification:
		return exit.Usagef("--calibrate %s is for classification; the recipe is for %s", calibrate, r.Task)
	case r.Profile.Shapes == nil:
		return exit.Usagef("--calibrate %s: sums tell where the curves of probabilities lie and how steep they are, but not "+
			"their shape, and the recipe was made without --calibrate platt; make one with it, and sum the rows by that",
			calibrate)
	}
	return nil
}

package pipelines

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/days"
	"github.com/bochner-ml/bochner/pipelines/internal/evaluate"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Retrain makes the model of a day: it sums the partitions of the data that changed, fits a model
// to the window, compares it with the champion, and makes it champion if it passes. If it promotes
// no model, the error is an *exit.GateError (the model did not pass) or an *exit.OutcomeError, and
// the result is complete, or nil if another run is at work. Other errors come with a nil result.
func Retrain(ctx context.Context, o options.Retrain) (*results.Retrain, error) {
	switch o.PairedGate {
	case "":
		o.PairedGate = options.NewRetrain().PairedGate
	case options.NoGate:
		o.PairedGate = ""
	}
	_, gateErr := evaluate.ParseGates(o.Gate)
	_, pairedErr := evaluate.ParseConditions(pairedFlag, o.PairedGate)
	if err := cmp.Or(gateErr, pairedErr, checkRetrainable(o.Train)); err != nil {
		return nil, err
	}
	train := spec.Options{Train: o.Train}
	if _, rounds := train.Rounds(); rounds && o.Window.Auto {
		return nil, exit.Usagef("--window auto chooses by the sums of days, which the learner %s does not have; "+
			"give a number of days, such as --window 90d, or train with ridge", train.LearnerName())
	}
	o.Program = engine.Version()
	o.Train.Data.Ignore = days.DayColumns(o.Data)
	report, err := days.Retrain(ctx, o.RetrainData, &retrainJobs{o})
	if kept, ok := errors.AsType[*exit.ResumableError](err); ok {
		kept.Same = true // see buildJob
	}
	return report, err
}

const pairedFlag = "paired_gate" // flag of PairedGate

// checkRetrainable refuses options that retraining sets itself, several targets, whose models cannot be
// compared, and options that only the first run could honour, because the models of later runs are
// fitted to sums.
func checkRetrainable(t options.Train) error {
	for _, own := range []struct {
		flag string
		set  bool
	}{{"recipe", t.Recipe != ""}, {"model", t.Model != ""}, {"work", t.Job.Work != ""}, {"resume", t.Job.Resume}} {
		if own.set {
			return exit.Usagef("--%s cannot be used with retrain, which chooses it by itself; leave it out", own.flag)
		}
	}
	if strings.ContainsAny(t.Data.Label, ",*") {
		return exit.Usagef("--label %s: models of several targets cannot be compared, so none would replace the "+
			"first; retrain one model for each target", t.Data.Label)
	}
	if _, rounds := (spec.Options{Train: t}).Rounds(); rounds {
		return nil // it is trained on rows in every run
	}
	flag := ""
	switch {
	case t.Calibrate == options.CalibrationIsotonic:
		flag = "calibrate " + string(t.Calibrate)
	case t.Threshold != "":
		flag = "threshold"
	case t.Lambda.Selects():
		flag = "select"
	default:
		return nil
	}
	return exit.Usagef("--%s needs the scores of rows, and the models of later nights are fitted to sums, "+
		"which have none; leave it out, or choose an iterative learner, which is trained on all rows every night", flag)
}

package pipelines

import (
	"context"
	"errors"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// TrainAndTest trains a model as Train does and evaluates it on rows that training has not read. With TestShare,
// the model is the same as from Train on the remaining rows only. If the evaluation fails, the model remains.
func TrainAndTest(ctx context.Context, o options.TrainAndTest) (*results.TrainAndTest, error) {
	test, err := testData(ctx, o)
	if err != nil {
		return nil, err
	}
	result := &results.TrainAndTest{Test: &results.TestScores{Share: o.TestShare}}
	if o.TestShare > 0 {
		if err := (spec.Options{Train: o.Train}).WithDefaults().Validate(); err != nil {
			return nil, err
		}
		if err := job.CheckOutput(ctx, o.Job, o.Model); err != nil {
			return nil, err
		}
		opts := (spec.Options{Train: o.Train}).PrepareOptions()
		if o.Data.TestSplit, result.Test.HeldOut, err = prepare.HoldOutTest(ctx, opts, o.TestShare); err != nil {
			return nil, err
		}
		test.TestSplit = o.Data.TestSplit.Other()
	}
	if result.Train, err = Train(ctx, o.Train); result.Train == nil {
		return nil, err
	}
	evaluation := options.Evaluate{Model: o.Model, Data: test, MaxBadFraction: o.MaxBadFraction, Job: o.Job}
	evaluation.Job.Work, evaluation.Job.Resume = prepare.WorkDirOfTest(o.Job.Work), false
	var scoreErr error
	result.Test.Evaluate, scoreErr = Evaluate(ctx, evaluation)
	return result, errors.Join(err, exit.AfterPublish(o.Model, scoreErr))
}

// testData returns the data of the test. It refuses options with which the model may have seen test rows.
func testData(ctx context.Context, o options.TrainAndTest) (test dataset.Options, err error) {
	test = dataset.Options{Files: o.Data.Files, Objects: o.Data.Objects, As: o.Data.As, Format: o.Data.Format,
		Label: o.Data.Label, LabelText: o.Data.LabelText, Formats: o.Data.Formats}
	if o.TestShare > 0 {
		l := o.Iterative()
		switch {
		case o.TestShare >= 1:
			return test, exit.Usagef("--test %g: a share of the rows is above 0 and below 1", o.TestShare)
		case o.Recipe != "":
			return test, exit.Usagef("--test %g cannot be used with --recipe, which follows from rows that may be among these: "+
				"name files for --test", o.TestShare)
		case l != nil && l.Common().Init != "":
			return test, exit.Usagef("--test %g cannot be used with --init: that model may know the rows; name files for --test",
				o.TestShare)
		}
		return test, nil
	}
	test.Files, test.Objects, test.As = o.TestFiles, nil, ""
	for option, names := range test.Patterns() {
		if option != "data" && len(names) > 0 {
			return test, exit.Usagef("--test cannot be used with --%s, which is for the training data; use bochner evaluate",
				option)
		}
	}
	files, err := dataset.List(ctx, o.TestFiles)
	if err != nil {
		return test, err
	}
	trained := o.Data.Objects
	if trained == nil {
		if trained, err = dataset.List(ctx, o.Data.Files); err != nil {
			return test, err
		}
	}
	known := map[string]bool{}
	for _, f := range trained {
		known[f.URI] = true
	}
	for _, f := range files {
		if known[f.URI] {
			return test, exit.Usagef("--test %s is a file of the training data too, so its rows are not new", f.Name)
		}
	}
	return test, nil
}

package pipelines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
)

// TrainTestOptions says on which rows a model is evaluated after its training: the rows of files, or a
// share of the rows of the data. Training does not read them.
type TrainTestOptions struct {
	Files []string
	Share float64 // above 0 and below 1; 0 to use Files
}

// TrainTestResult describes the trained model and its test.
type TrainTestResult struct {
	*TrainResult
	Test *TrainTestScores `json:"test"`
}

// TrainTestScores has the scores of a model on rows that its training has not read. EvaluateResult is nil if the
// evaluation failed.
type TrainTestScores struct {
	HeldOut string  `json:"held_out,omitempty"` // which rows of the data were held out
	Share   float64 `json:"share,omitempty"`
	*EvaluateResult
}

// TrainAndTest trains a model as Train does and evaluates it on rows that training has not read. With Share,
// the model is the same as from Train on the remaining rows only. If the evaluation fails, the model remains.
func TrainAndTest(ctx context.Context, o TrainOptions, t TrainTestOptions) (*TrainTestResult, error) {
	test, err := t.data(ctx, o)
	if err != nil {
		return nil, err
	}
	result := &TrainTestResult{Test: &TrainTestScores{Share: t.Share}}
	if t.Share > 0 {
		if err := (spec.Options{Train: o}).WithDefaults().Validate(); err != nil {
			return nil, err
		}
		if err := job.CheckOutput(ctx, o.Job, o.Model); err != nil {
			return nil, err
		}
		rows := (spec.Options{Train: o}).PrepareOptions()
		if o.Data.Part, result.Test.HeldOut, err = prepare.HoldOutTest(ctx, rows, t.Share); err != nil {
			return nil, err
		}
		test.Part = o.Data.Part.Other()
	}
	if result.TrainResult, err = Train(ctx, o); result.TrainResult == nil {
		return nil, err
	}
	evaluation := EvaluateOptions{Model: o.Model, Data: test, MaxBadFraction: o.MaxBadFraction, Job: o.Job}
	evaluation.Job.Work, evaluation.Job.Resume = prepare.WorkDirOfTest(o.Job.Work), false
	scores, notScored := Evaluate(ctx, evaluation)
	result.Test.EvaluateResult = scores
	return result, errors.Join(err, exit.AfterPublish(o.Model, notScored))
}

// data returns the data of the test. It refuses options with which the model may have seen test rows.
func (t TrainTestOptions) data(ctx context.Context, o TrainOptions) (test dataset.Options, err error) {
	test = dataset.Options{Files: o.Data.Files, Objects: o.Data.Objects, As: o.Data.As, Format: o.Data.Format,
		Label: o.Data.Label, LabelText: o.Data.LabelText, Formats: o.Data.Formats}
	if t.Share > 0 {
		l := o.Iterative()
		switch {
		case t.Share >= 1:
			return test, exit.Usagef("--test %g: a share of the rows is above 0 and below 1", t.Share)
		case o.Recipe != "":
			return test, exit.Usagef("--test %g cannot be used with --recipe, which follows from rows that may be among these: "+
				"name files for --test", t.Share)
		case l != nil && l.Common().Init != "":
			return test, exit.Usagef("--test %g cannot be used with --init: that model may know the rows; name files for --test",
				t.Share)
		}
		return test, nil
	}
	test.Files, test.Objects, test.As = t.Files, nil, ""
	for option, names := range test.Patterns() {
		if option != "data" && len(names) > 0 {
			return test, exit.Usagef("--test cannot be used with --%s, which is for the training data; use bochner evaluate",
				option)
		}
	}
	files, err := dataset.List(ctx, t.Files)
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

// WriteTo prints the result for people.
func (r *TrainTestResult) WriteTo(w io.Writer) (int64, error) {
	if r.Test.EvaluateResult == nil {
		return r.TrainResult.WriteTo(w)
	}
	var b bytes.Buffer
	if _, err := r.TrainResult.WriteTo(&b); err != nil {
		return 0, err
	}
	fmt.Fprintf(&b, "\ntest on rows that training has not read")
	if t := r.Test; t.HeldOut != "" {
		fmt.Fprintf(&b, " (%.3g%% of all; %s)", 100*float64(t.Rows.Read)/float64(t.Rows.Read+r.TrainResult.Rows.Read),
			t.HeldOut)
	}
	b.WriteString(":\n")
	if _, err := r.Test.EvaluateResult.WriteTo(&b); err != nil {
		return 0, err
	}
	return b.WriteTo(w)
}

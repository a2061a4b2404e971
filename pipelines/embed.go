package pipelines

import (
	"cmp"
	"context"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Embed creates a model that maps rows to their coordinates along the directions in which
// features vary most: kernel PCA by random features. It takes a profile pass and a pass that
// sums the features' second moments. Labels are used for the plot only.
func Embed(ctx context.Context, o options.Embed) (result *results.Embed, err error) {
	return embed(ctx, o, 0)
}

// embed is Embed for rows that have folds, or none with 0.
func embed(ctx context.Context, o options.Embed, folds int) (result *results.Embed, err error) {
	o.Components = cmp.Or(o.Components, pca.DefaultComponents)
	if err := prepare.LoadKernel(ctx, &o.Prepare); err != nil {
		return nil, err
	}
	if err := validateEmbed(o); err != nil {
		return nil, err
	}
	run := spec.Options{Train: options.Train{Prepare: o.Prepare, Model: o.Model}, JobFolds: folds}
	t, err := training.Begin(ctx, run, o.Model, func(d *dataset.Dataset) error { return checkLabels(o, d) })
	if err != nil {
		return nil, err
	}
	defer func() { err = t.Job.Close(ctx, err) }()
	switch {
	case o.Components > t.Prepared.Recipe.Dim:
		return nil, exit.Usagef("--components %d: there are only %d features", o.Components, t.Prepared.Recipe.Dim)
	case o.Plot != "" && (t.Prepared.Target.Classes == nil || len(t.Prepared.Target.Classes.Classes) > maxClouds):
		return nil, exit.Usagef("--picture: labels must be classes, at most %d of them (see --task)", maxClouds)
	}
	if err := t.Reserve(t.Memory(o.Components)); err != nil {
		return nil, err
	}
	m := &training.Model{Training: t}
	if m.Fit, err = t.Embed(ctx, &o.LearnerOptions); err != nil {
		return nil, err
	}
	if err := m.Publish(ctx); err != nil {
		return nil, err
	}
	if o.Plot != "" {
		err = t.DrawEmbedding(ctx, m.Fit, o.Plot)
	}
	p, l := t.Prepared, m.Fit.Learner
	return &results.Embed{
		Model: o.Model, Rows: p.Counts, Columns: p.Profile.Dim, Kernel: p.Recipe.Name, Recipe: p.Recipe.Sealed,
		Components: l.Components, Seconds: t.Job.Seconds, Steps: l.Steps, Dim: p.Recipe.Dim,
	}, exit.AfterPublish(o.Model, err)
}

func validateEmbed(o options.Embed) error {
	if o.Model == "" {
		return exit.Usagef("--model is missing: name the directory to create")
	}
	if err := o.LearnerOptions.Validate(); err != nil {
		return &exit.UsageError{Err: err}
	}
	if err := report.CheckPicture(o.Plot); err != nil {
		return err
	}
	if o.Plot != "" && o.Components < 2 {
		return exit.Usagef("--picture needs 2 components or more (have %d)", o.Components)
	}
	return cmp.Or(job.Validate(o.Job, o.Data, o.Model, job.Dir{Flag: "model", Name: o.Model}), prepare.Validate(o.Prepare))
}

// checkLabels returns an error if a plot is asked for and the data has no labels to colour it.
func checkLabels(o options.Embed, d *dataset.Dataset) error {
	if o.Plot == "" || d.Labeled {
		return nil
	}
	return exit.Usagef("--picture colours rows by their labels; %w", prepare.UnlabeledError(d))
}

// maxClouds is the largest number of classes in a plot.
const maxClouds = 12

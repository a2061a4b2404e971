package apply

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// OpenForModel reads the manifest of a model and opens data that matches it. It also checks the weights, so
// that damage is reported before any work.
func OpenForModel(ctx context.Context, model string, o dataset.Options,
	log io.Writer) (*models.Manifest, *dataset.Dataset, error) {
	if model == "" {
		return nil, nil, exit.Usagef("--model is missing: name the directory of a model")
	}
	manifest, err := models.CheckDir(ctx, model)
	if err != nil {
		return nil, nil, err
	}
	if o.Like, err = SchemaOf(model, manifest); err != nil {
		return nil, nil, err
	}
	d, err := job.OpenData(ctx, o, log)
	if err == nil {
		err = sameTargets(model, manifest, d)
	}
	return manifest, d, err
}

// SchemaOf returns how data is read for a model.
func SchemaOf(model string, m *models.Manifest) (*dataset.Schema, error) {
	s, err := dataset.SchemaOf(m.Input.Options)
	if err != nil {
		return nil, models.NewError(model, fmt.Errorf("%s: %w", models.ManifestFile, err))
	}
	return s, nil
}

// sameTargets returns an error if rows of the data do not have as many labels as the model has targets.
func sameTargets(dir string, m *models.Manifest, d *dataset.Dataset) error {
	labels, want := max(1, len(d.Targets)), 1
	if m.Task == models.Regression {
		want = m.Outputs
	}
	switch {
	case labels == want, !d.Labeled, m.Task == models.Embedding:
		return nil
	case want == 1:
		return exit.Usagef("--label gives %d columns (%s); the model %s takes one label", labels,
			report.SomeOf(d.Targets), dir)
	case len(m.Input.Labels) > 0:
		return exit.Usagef("the model %s predicts %d targets (%s), and the data has %s; give as many with --label, in this "+
			"order, or none if the columns have these names",
			dir, want, report.SomeOf(m.Input.Labels), report.Counted(labels, "label"))
	}
	return exit.Usagef("the model %s predicts %d targets, and the data has %s", dir, want, report.Counted(labels, "label"))
}

// WithWeights returns the options with the column of weights that the model was trained with, unless the
// options have one or the data lacks that column.
func WithWeights(ctx context.Context, model string, o dataset.Options) (dataset.Options, error) {
	if model == "" || o.Weight != "" {
		return o, nil
	}
	m, err := models.CheckDir(ctx, model)
	if err != nil || m.Weights == nil {
		return o, err
	}
	with := o
	with.Weight = m.Weights.Column
	with.Label = cmp.Or(with.Label, option.JoinList(m.Input.Labels), m.Input.Label)
	// Ignore errors: opening the data for the model returns them.
	if d, err := dataset.Open(ctx, with); err == nil && slices.Contains(d.Fields, m.Weights.Column) {
		return with, nil
	}
	return o, nil
}

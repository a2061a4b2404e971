package apply

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
)

// WithWeights returns the options with the column of weights that the model was trained with, unless the
// options have one or the data lacks that column.
func WithWeights(ctx context.Context, model string, o dataset.Options) (dataset.Options, error) {
	if model == "" || o.Weight != "" {
		return o, nil
	}
	m, err := models.Check(ctx, model)
	if err != nil || m.Weights == nil {
		return o, err
	}
	with := o
	if with.Weight = m.Weights.Column; with.Label == "" {
		with.Label = labelsOf(m)
	}
	// Ignore errors: opening the data for the model returns them.
	if d, err := dataset.Open(ctx, with); err == nil && slices.Contains(d.Fields, m.Weights.Column) {
		return with, nil
	}
	return o, nil
}

// labelsOf returns the value of the option for the labels of a model.
func labelsOf(m *models.Manifest) string {
	if len(m.Input.Labels) > 0 {
		return dataset.JoinNames(m.Input.Labels)
	}
	return m.Input.Label
}

package apply

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
)

// WithWeights returns the options with the column of weights with which the model was trained,
// if none is given and the data has that column.
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
	// Where data cannot be read, opening it for the model returns the error.
	if d, err := dataset.Open(ctx, with); err == nil && slices.Contains(d.Fields, m.Weights.Column) {
		return with, nil
	}
	return o, nil
}

// labelsOf returns what gives the labels of a model in options.
func labelsOf(m *models.Manifest) string {
	if len(m.Input.Labels) > 0 {
		return dataset.JoinNames(m.Input.Labels)
	}
	return m.Input.Label
}

package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/internal/apply"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// InspectData reads all rows once and describes them. It writes nothing except a schema file, if
// the options name one.
func InspectData(ctx context.Context, o options.Inspect) (*results.InspectData, error) {
	return apply.InspectData(ctx, o)
}

// InspectEffects is InspectModel with the effects of columns on predictions, measured on up to
// 1,000 rows of the data of o. It needs no labels and works for any features and learner.
func InspectEffects(ctx context.Context, o options.InspectEffects) (*results.InspectModel, error) {
	return apply.InspectEffects(ctx, o)
}

// DrawEffects plots the effects of columns to a file, .png or .svg. The report must have effects.
func DrawEffects(ctx context.Context, r *results.InspectModel, file string) error {
	return apply.DrawEffects(ctx, r, file)
}

// InspectModel loads a model, verifies its checksums, and describes it.
func InspectModel(ctx context.Context, dir string) (*results.InspectModel, error) {
	return apply.InspectModel(ctx, dir)
}

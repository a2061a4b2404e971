package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/internal/apply"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// InspectData reads all rows once and describes them. It writes nothing except a schema file, if
// the options name one.
func InspectData(ctx context.Context, o options.InspectData) (*results.InspectData, error) {
	return apply.InspectData(ctx, o)
}

// InspectModel loads a model, verifies its checksums, and describes it. With data, it measures the effects of
// columns on predictions, on up to 1,000 rows; they need no labels. If the plot cannot be written, the error is
// an *exit.DoneError and the result is complete.
func InspectModel(ctx context.Context, o options.InspectModel) (*results.InspectModel, error) {
	return apply.InspectModel(ctx, o)
}

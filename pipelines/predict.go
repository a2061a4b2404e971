package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/internal/apply"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// PredictManifest is the name of the file that describes a directory of predictions: a
// results.Predict with the model.
const PredictManifest = apply.PredictManifest

// Predict applies a model to all rows of the data and publishes a directory of files with one line
// per row, in the order of the rows. With o.Join it writes them to that writer instead.
func Predict(ctx context.Context, o options.Predict) (*results.Predict, error) {
	return apply.Predict(ctx, o)
}

// Explain explains the prediction for a row of the data.
func Explain(ctx context.Context, o options.Explain) (*results.Explain, error) {
	return apply.Explain(ctx, o)
}

// PredictFormats returns the names of the formats that predictions can be written in.
func PredictFormats() []string { return apply.PredictFormats() }

// PredictStream applies a model to files as they appear, until the context ends or, with UntilIdle,
// no files are left. The end of the context is not an error: the stream finishes its current file.
func PredictStream(ctx context.Context, o options.PredictStream) (*results.StreamRound, error) {
	return apply.PredictStream(ctx, o)
}

// Featurize writes the features of all rows for other programs: float32 arrays in files of at most
// 64 MiB, in the order of the rows, with the labels if the data has any.
func Featurize(ctx context.Context, o options.Featurize) (*results.Featurize, error) {
	return apply.Featurize(ctx, o)
}

// FeaturizeFormats returns the names of the formats that features can be written in.
func FeaturizeFormats() []string { return apply.FeaturizeFormats() }

package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/pipelines/internal/apply"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// PredictOptions says which model to apply to which data.
type PredictOptions = options.Predict

// PredictContent has the options of what is written for each row, and in which format.
type PredictContent = options.Content

// PredictResult describes the predictions.
type PredictResult = results.Predict

// PredictManifest is the name of the file that describes a directory of predictions: a
// PredictResult with the model.
const PredictManifest = apply.PredictManifest

// Threshold decides between two classes, instead of the larger score or probability.
type Threshold = results.Threshold

// Predict applies a model to all rows of the data and publishes a directory of files with one line
// per row, in the order of the rows. With o.Join it writes them to that writer instead.
func Predict(ctx context.Context, o PredictOptions) (*PredictResult, error) {
	return apply.Predict(ctx, o)
}

// ExplainOptions says which prediction to explain.
type ExplainOptions = options.Explain

// ExplainResult explains the prediction for a row.
type ExplainResult = results.Explain

// Explain explains the prediction for a row of the data.
func Explain(ctx context.Context, o ExplainOptions) (*ExplainResult, error) {
	return apply.Explain(ctx, o)
}

// PredictFormats returns the names of the formats that predictions can be written in.
func PredictFormats() []string { return apply.PredictFormats() }

// StreamOptions says which model to apply to files as they appear. NewStreamOptions sets the defaults.
type StreamOptions = options.Stream

// NewStreamOptions returns the defaults.
func NewStreamOptions() (o StreamOptions) {
	option.List(&o) // sets the defaults in the tags
	return o
}

// StreamRound describes what a stream has done in one round of files, and in total.
type StreamRound = results.StreamRound

// StreamCounts has the numbers of files and rows that a stream has processed.
type StreamCounts = results.StreamCounts

// PredictStream applies a model to files as they appear, until the context ends or, with UntilIdle,
// no files are left. The end of the context is not an error: the stream finishes its current file.
func PredictStream(ctx context.Context, o StreamOptions) (*StreamRound, error) {
	return apply.PredictStream(ctx, o)
}

// FeaturizeOptions says which features to write, and for which data.
type FeaturizeOptions = options.Featurize

// FeaturizeResult describes the written features.
type FeaturizeResult = results.Featurize

// Featurize writes the features of all rows for other programs: float32 arrays in files of at most
// 64 MiB, in the order of the rows, with the labels if the data has any.
func Featurize(ctx context.Context, o FeaturizeOptions) (*FeaturizeResult, error) {
	return apply.Featurize(ctx, o)
}

// FeaturizeFormats returns the names of the formats that features can be written in.
func FeaturizeFormats() []string { return apply.FeaturizeFormats() }

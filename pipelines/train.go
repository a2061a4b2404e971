package pipelines

import (
	"context"

	_ "github.com/bochner-ml/bochner/io/storage/s3"           // s3://
	_ "github.com/bochner-ml/bochner/pipelines/engine/remote" // universal, flink and dataflow
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Train trains a model and publishes its directory, complete or not at all. It runs a profile pass,
// and then either one pass that sums the features' second moments, followed by a solve, or one pass
// per round of an iterative learner.
func Train(ctx context.Context, o options.Train) (*results.Train, error) {
	return training.Run(ctx, o)
}

package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/training"
)

// training.Options says what to train on which data.
type TrainOptions = training.Options

// training.Result is what a training has made.
type TrainResult = training.Result

// Train trains a model and publishes its directory whole. It profiles the data in a pass,
// and then runs what the learner takes: a pass that adds up the features' second moments,
// and a solve; or a pass for each round.
func Train(ctx context.Context, o TrainOptions) (*TrainResult, error) {
	return training.Run(ctx, o)
}

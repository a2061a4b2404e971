// Package pipelines contains the jobs: Train, Align, Embed, Predict, Evaluate, Verify,
// InspectData, InspectModel, Featurize, Compare and Generate. Each is a function that a Go
// program can call; package command makes a command of it. A job builds one graph of
// transforms per pass over the data, runs it on a Beam runner, and decides between passes
// what to do next.
//
// A job of one file is here; others have a package below it, whose types have names here: training
// and alignment, summing (Sum, Fit, Forget), retrain, predicting (Predict, PredictStream, Featurize),
// evaluating (Evaluate, CompareModels, Verify), inspecting and approximation (Compare). They share
// modeldata, prepare, recipe, job, workdir, engine, report and exit.
//
// A job runs in the process that calls it and opens no port. It prints only to
// job.Options.Log, never ends the process, and leaves the program's loggers alone, except that
// Beam's log lines about the job are dropped unless engine.Engine.Verbose is set. The runners
// universal, flink and dataflow start the program again as a worker: such a program calls
// flag.Parse and then beam.Init at the beginning of main.
package pipelines

import (
	"context"

	_ "github.com/bochner-ml/bochner/io/storage/s3"           // s3://
	_ "github.com/bochner-ml/bochner/pipelines/engine/remote" // universal, flink and dataflow
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
)

// TrainOptions says what to train on which data.
type TrainOptions = training.Options

// Spec is the part of TrainOptions that says which data to read, how rows become features, and what the
// labels are.
type Spec = prepare.Spec

// LambdaOptions are the part of TrainOptions that says how λ is chosen.
type LambdaOptions = training.LambdaOptions

// PredictionOptions are the part of TrainOptions that says how scores become probabilities, classes and
// intervals.
type PredictionOptions = training.PredictionOptions

// NoSearch is the value of TrainOptions.Search for features that are not searched for.
const NoSearch = tuning.NoSearch

// TrainResult describes the trained model.
type TrainResult = training.Result

// Train trains a model and publishes its directory as a whole. It runs a profile pass and then
// what the learner needs: a pass that sums the features' second moments, and a solve; or a
// pass per round.
func Train(ctx context.Context, o TrainOptions) (*TrainResult, error) {
	return training.Run(ctx, o)
}

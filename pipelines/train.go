// Package pipelines holds the jobs: Train, Align, Embed, Predict, Evaluate, Verify,
// Inspect, Featurize, Compare and Generate. Each is a function that a Go program can call,
// and a command made of it. A job builds a graph of transforms for each pass over the data,
// runs it on a Beam runner, and decides between passes.
//
// The rooms below it, each of which imports only those after it: plan, training, alignment,
// prepare, recipe, job, workdir, engine, report, exit.
//
// A job runs in the process that calls it and opens no port. It prints nothing but to
// job.Options.Log, leaves the loggers of the program alone, save that Beam's log lines
// about the job are dropped unless engine.Engine.Verbose is set, and never ends the process.
// The runners universal, flink and dataflow start the program again as a worker:
// such a program calls flag.Parse and then beam.Init at the beginning of main.
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

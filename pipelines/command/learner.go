package command

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/models/svm"
	"github.com/bochner-ml/bochner/pipelines/job"
	"github.com/bochner-ml/bochner/pipelines/training"
)

// registerLearner adds the flags that choose a learner.
func registerLearner(fs *pflag.FlagSet, o *training.LearnerOptions) {
	fs.StringVar(&o.Name, "learner", "ridge", "Learner: ridge (least squares, one pass), or an iterative learner: svm (dual coordinate ascent, with an optimality certificate), sgd (mini-batches, for many features and for softmax).")
	fs.StringVar(&o.Loss, "loss", "", "Loss of an iterative learner: for classes "+strings.Join(loss.Names(true), ", ")+"; for numbers "+strings.Join(loss.Names(false), ", ")+". The default is hinge or epsilon_insensitive for svm, softmax or squared for sgd.")
	fs.Float64Var(&o.Epsilon, "epsilon", 0, "Half width of the zone around the target, for the losses huber and epsilon_insensitive, in units of the spread of the targets (interquartile range / 1.349, the standard deviation of normal targets); 0 is 0.1.")
	fs.StringSliceVar(&o.Weights, "class_weight", nil, "Class weights in the loss: balanced, or a list of NAME=WEIGHT separated by commas.")
	fs.Float64Var(&o.Bias, "bias", svm.DefaultBias, "For svm: value of the constant feature whose weight is the intercept. It is regularised like the other weights; 0 means no intercept.")
	fs.IntVar(&o.Passes, "passes", 0, "For svm: most passes over the rows in memory between two passes over all rows; 0 chooses.")
	fs.StringVar(&o.Method, "method", "momentum", "For sgd: momentum (halves its rate when the objective stops falling), adagrad, or sgd (with a rate that decays with the epochs).")
	fs.Float64Var(&o.Rate, "rate", 0, "For sgd: initial learning rate; 0 finds one by short runs on a sample.")
	fs.IntVar(&o.Batch, "batch", 0, "For sgd: rows per batch; 0 chooses.")
	fs.StringSliceVar(&o.Augment, "augment", nil, "For images: random augmentations of the training rows in each round, separated by commas: crop (of the size that --scale starts with), flip, brightness:AMOUNT, contrast:AMOUNT, saturation:AMOUNT, with amounts from 0 to 1.")
	fs.StringVar(&o.Init, "init", "", "Directory of a model with the same features and classes; its weights are the initial weights.")
	fs.StringVar(&o.Curve, "curve", "", "File for a plot of the training log, .png or .svg.")

	r := &o.Rounds
	fs.IntVar(&r.Rounds, "rounds", 0, "Most rounds of an iterative learner, each one pass over the data; 0 is 1000 for svm and 100 for sgd. Both stop earlier when they have converged.")
	fs.Float64Var(&r.Gap, "gap", 0, "Stop when the duality gap (a bound on the distance of the objective from its optimum) is at most this share of the objective; 0 is 1e-3 for svm unless --rounds is given.")
	fs.IntVar(&r.Patience, "patience", 0, "Stop after this many rounds without a lower held-out error, and keep the best round; 0 disables.")
	fs.DurationVar(&r.Time, "max_time", 0, "Time limit for all rounds, such as 90s or 2h. The values of lambda that are tried and the final fit share it: each stops after the round in which its share is used up, and what has not started by then is skipped, with a note. With a limit the model depends on the clock; 0 disables.")
	fs.IntVar(&r.Partitions, "partitions", 0, "Partitions that the rows are assigned to; 0 is 1. Several partitions let workers share the rows, and svm then takes many more rounds. A parameter of the model.")
	fs.IntVar(&r.PerJob, "rounds_per_job", 1, "Rounds in one job of the runner; more where a job takes long to start. Does not change results.")
	fs.Int64Var(&r.Keep, "keep_bytes", job.DefaultKeep, "Bytes of features that each worker process caches between rounds. Does not change results.")
}

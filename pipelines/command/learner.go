package command

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/models/svm"
	"github.com/bochner-ml/bochner/pipelines"
)

// registerLearner adds the flags that choose a learner.
func registerLearner(fs *pflag.FlagSet, o *pipelines.LearnerOptions) {
	fs.StringVar(&o.Name, "learner", "ridge", "Learner: ridge (least squares, in one pass); in rounds over the data: svm (dual coordinate ascent, with a certificate), sgd (mini-batches, for many features and softmax).")
	fs.StringVar(&o.Loss, "loss", "", "Loss of a learner in rounds: for classes "+strings.Join(loss.Names(true), ", ")+"; for numbers "+strings.Join(loss.Names(false), ", ")+". Default: hinge or epsilon_insensitive for svm, softmax or squared for sgd.")
	fs.Float64Var(&o.Epsilon, "epsilon", 0, "Of the losses huber and epsilon_insensitive: the half width of the zone around the target, in units of the targets' spread: the distance of their quartiles over 1.349, which is the standard deviation of normal targets; 0 is 0.1.")
	fs.StringSliceVar(&o.Weights, "class_weight", nil, "Weights of classes in the loss: balanced, or NAME=WEIGHT with commas between.")
	fs.Float64Var(&o.Bias, "bias", svm.DefaultBias, "Of svm: value of the constant feature whose weight is the intercept, which is regularised with the other weights; 0 is no intercept.")
	fs.IntVar(&o.Passes, "passes", 0, "Of svm: most passes over the rows in memory between two looks at all of them; 0 chooses.")
	fs.StringVar(&o.Method, "method", "momentum", "Of sgd: momentum, whose rate is halved where the objective falls no more, until it is small; adagrad; or sgd, with a rate that falls with the epochs.")
	fs.Float64Var(&o.Rate, "rate", 0, "Of sgd: learning rate to begin with; 0 finds one by short runs on a sample.")
	fs.IntVar(&o.Batch, "batch", 0, "Of sgd: rows of a batch; 0 chooses.")
	fs.StringSliceVar(&o.Augment, "augment", nil, "Of images: changes made at random in each round to the rows learned from: crop (of the size that --scale begins with), flip, brightness:AMOUNT, contrast:AMOUNT, saturation:AMOUNT, with commas between; amounts from 0 to 1.")
	fs.StringVar(&o.Init, "init", "", "Directory of a model of the same features and classes whose weights to begin with.")
	fs.StringVar(&o.Curve, "curve", "", "File for a picture of how the rounds went, .png or .svg.")

	r := &o.Rounds
	fs.IntVar(&r.Rounds, "rounds", 0, "Most rounds of a learner in rounds, each a pass over the data; 0 is 1000 for svm, 100 for sgd; both end before where they have converged.")
	fs.Float64Var(&r.Gap, "gap", 0, "Stop when the duality gap, how far at most the objective is from the best, is at most this share of it; 0 is 1e-3 for svm unless --rounds is given.")
	fs.IntVar(&r.Patience, "patience", 0, "Stop when so many rounds have not lowered the held-out error, and take the best of them; 0 for no such end.")
	fs.DurationVar(&r.Time, "max_time", 0, "Limit of the time (such as 90s or 2h) of all rounds: of every lambda that is tried and of the fit to all rows, which share it. Each stops after the round in which its share is over, and what is not begun by then is left out, with a note. 0 disables. The model then depends on the clock.")
	fs.IntVar(&r.Partitions, "partitions", 0, "Partitions to which the rows are dealt for a learner in rounds; 0 is 1 for svm, for which several take many more rounds, and 1 for sgd; several let workers share the rows. A parameter of the model.")
	fs.IntVar(&r.PerJob, "rounds_per_job", 1, "Rounds in one job of the runner: more where starting a job takes long. Does not change results.")
	fs.Int64Var(&r.Keep, "keep_bytes", pipelines.DefaultKeep, "Bytes of features that each worker process keeps in memory between rounds. Does not change results.")
}

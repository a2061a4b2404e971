// Package spec has the options of a training run (Options), their defaults and checks, and the memory that it
// takes (Options.Memory). A fitter answers for the kind of learner, which is either bySums or ByRounds. Folding
// says which sums a fit by sums needs. Training and plans use the same methods, so that a plan describes what
// training will do.
package spec

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// Reporting says what a model directory has for people.
type Reporting struct {
	// Report says whether the model directory gets a report: auto or none; "" is auto.
	Report string `flag:"report" group:"Model and output" default:"auto" values:"auto,none" help:"Whether to write report.html, a report in one HTML file, into the model directory: auto (yes) or none."`
	// Command is a command that makes the model, for its lineage; "" if there is none.
	Command string
}

// Options says what model to train, and on which data.
type Options struct {
	options.Spec
	// Recipe is the directory of a model whose recipe is used for these rows. Other options except Data, Lambda,
	// MaxBadFraction and Job are then ignored. "" makes a recipe from the profile.
	Recipe string `flag:"recipe" group:"Model and output" placeholder:"DIR" help:"Directory of a model whose recipe is used for this data, or an alias such as DIR@champion: features, scaling, folds and grid come from that model, and nothing is chosen from the rows. The result is the same model as from sum and fit."`
	Model  string `flag:"model,common" group:"Model and output" placeholder:"DIR" help:"Directory to create; it must not exist."`
	Reporting
	// Learner has the options of the learner, such as a *svm.Training; nil is ridge.
	Learner           iterative.Options
	Lambda            LambdaOptions `group:"Learner"`
	PredictionOptions `group:"Learner"`
	// Learned says how the features of the kernels learned and harmonic are learned. It is not used if Kernel
	// names a directory with them.
	Learned options.Game `group:"Learned features" omit:"Running"`
	// Search says whether preprocessing of columns, kernel, width, metric and additional features are searched on
	// a sample of the rows: auto or none; "" is auto. A kernel that is set is kept, and with a width that is set
	// nothing is searched. If a search does not apply, the model is as with none, and a note says why.
	Search string `flag:"search,common" group:"Features" default:"auto" values:"auto,none" help:"How to choose what flags do not set: auto (searches the view of the columns, kernel, width, metric and extra features by held-out errors on a sample of the rows) or none (defaults). --kernel keeps the kernel; --width and --gamma leave nothing to search. Up to 128 rows get 2,048 features, unless --features is given."`
	// Size says how the number of features is chosen. The kernel's number is the largest.
	Size tuning.SizeOptions `group:"Features"`
	// Kernels are the kernels that the search chooses from; the first is Kernel. The default is Kernel if it is
	// set, and otherwise tuning.Families.
	Kernels []kernel.Options
	// Accept, unless nil, is called after the profile. If it returns an error, the job ends before it fits the
	// model. The manifest has the task, the classes or the number of outputs, and Probabilities if the model will
	// have them.
	Accept func(*models.Manifest) error

	rule *profile.FoldRule // assigns rows to folds; nil before the profile, and if their content does
}

// PredictionOptions choose probabilities, the threshold between two classes, and intervals.
type PredictionOptions struct {
	// Calibrate is the method that fits probabilities to scores of held-out rows: AutoCalibrate (or ""), none,
	// platt or isotonic.
	Calibrate string `flag:"calibrate,common" default:"auto" values:"auto,none,platt,isotonic" help:"Probabilities from scores: platt (a sigmoid per class), isotonic (an increasing step function per class), none, or auto. auto is isotonic if every class has 1,000 held-out rows, and otherwise platt; it adds probabilities to classifiers that hold out rows anyway; they do, unless --lambda is one number. The curves are fitted to scores of the first of --folds (default 5), by a model not trained on it; the final model is trained on all rows. platt and isotonic hold out rows if nothing else does, and replace the probabilities of --loss softmax and logistic. With --recipe, platt works as in fit. With retrain and ridge, auto means none."`
	// Positive is the class of two to which Threshold, and precision, recall and F1 in evaluations, refer. "" is
	// the less frequent class, or the second of equally frequent ones.
	Positive string `flag:"positive" help:"For two classes, the positive class: --threshold refers to it, and so do precision, recall, F1 and the areas under curves of evaluate. The default is the rarer class; of equally frequent classes, the second in order."`
	// Threshold decides between two classes. It is a number, as in models.Applier, or a score.Criterion to
	// optimise on held-out rows. "" is none.
	Threshold string `flag:"threshold,common" group:"Model and output" help:"For two classes, predict the positive one at or above this threshold, not the class with the larger score or probability. A number, as for predict; or error, f1 (of the positive class) or balanced (accuracy), for the threshold with the best such score on the first fold, predicted by a model not trained on it. The summary says what to expect on other rows."`
	// Intervals says which prediction intervals are measured: ScaledIntervals (or ""), PlainIntervals or
	// NoIntervals.
	Intervals string `flag:"intervals" default:"scaled" values:"scaled,plain,none" help:"Intervals of predict --interval, from held-out rows: scaled (wider for rows far from the training rows, by the leverage of ridge), plain (equally wide; saves a solve), or none. none also leaves out predict --novelty, which needs 256 bytes for each feature."`
}

// Values of PredictionOptions.Intervals.
const (
	ScaledIntervals = "scaled"
	PlainIntervals  = "plain"
	NoIntervals     = "none"
)

// Divided returns the options for rows that the rule assigns to folds.
func (o Options) Divided(r *profile.FoldRule) Options {
	if r != nil {
		o.rule = r
		o.Learned.HeldOut = o.Parts()
	}
	return o
}

// Complete returns the options of a training run, with the files that its kernel names and with defaults. It
// returns an error if options are invalid whatever the data.
func (o Options) Complete(ctx context.Context) (Options, error) {
	o = o.WithKernels() // before LoadKernel, which sets a kernel
	if err := prepare.LoadKernel(ctx, &o.Spec); err != nil {
		return o, err
	}
	o = o.WithDefaults()
	o.Trains = true
	return o, o.Validate()
}

// WithDefaults returns the options with defaults for fields that are not set.
func (o Options) WithDefaults() Options {
	o = o.WithKernels()
	o.Search = cmp.Or(o.Search, tuning.AutoSearch)
	o.Learner = o.fitter().options()
	o.Calibrate = cmp.Or(o.Calibrate, AutoCalibrate)
	o.Learned = tuning.GameDefaults(o.Learned)
	o.Learned.HeldOut, o.Folds = o.Parts(), o.Parts()
	o.Split.Into(&o.Data)
	return o
}

// Validate returns a usage error if options are invalid whatever the data.
func (o Options) Validate() error {
	if o.Model == "" {
		return exit.Usage("--model is missing: name the directory to create")
	}
	if err := prepare.Validate(o.Base()); err != nil {
		return err
	}
	if f := o.LearnedKernel(); f != nil {
		if err := tuning.ValidateGame(o.Learned, f); err != nil {
			return err
		}
	}
	if o.Room > 0 && o.Iterative() != nil {
		return exit.Usage("--target_room is for models whose sums later data is added to, which learner %s does not have",
			o.LearnerName())
	}
	if err := job.Validate(o.Job, o.Data, o.Model, job.Place{Flag: "model", Name: o.Model}); err != nil {
		return err
	}
	for _, validate := range []func() error{o.validateSearch, o.validateSize, o.validateLearner, o.validateCalibration,
		o.validateThreshold, o.validateIntervals, o.validateSplit, o.Lambda.Validate} {
		if err := validate(); err != nil {
			return err
		}
	}
	return nil
}

// LearnedKernel returns the options of a kernel whose features this job learns, nil for others.
func (o Options) LearnedKernel() kernel.LearnedKernel {
	if f, ok := o.Kernel.(kernel.LearnedKernel); ok && f.Directory() == "" {
		return f
	}
	return nil
}

// LearnsFeatures reports whether the job learns the features of the kernel.
func (o Options) LearnsFeatures() bool { return o.LearnedKernel() != nil }

// Base returns the options of the profile pass. If features are to be learned, its kernel is the one from which
// learning starts.
func (o Options) Base() options.Spec {
	maps := o.Spec
	if f := o.LearnedKernel(); f != nil {
		maps.Learned = kernel.FamilyOf(f).Name
		maps.Kernel = f.Start()
	}
	return maps
}

// LambdaOptions says which values of the regularisation λ to try, and how to choose among them.
type LambdaOptions struct {
	Path  []float64 `flag:"lambda,common" placeholder:"LIST" values:"auto" help:"Regularisation λ, relative to the mean loss: a number, several separated by commas, or auto. Of several, the one with the smallest held-out error is chosen. auto tries powers of ten: for ridge 1e-8 to 1e-1 (on a 16-bit grid down to 1e-12, while smaller ones do better), for cg 1e-7 to 1e-3, for sgd and svm 1e-6 to 1e-3. With sums, the recipe sets auto."`
	C     float64   `flag:"C" help:"Alternative to --lambda: C = 1/(λn), where n is the number of rows."`
	Folds int       `flag:"folds,common" help:"Folds of the cross-validation; 0 means 5 for several --lambda values, otherwise none. Iterative learners and --calibrate hold out the first fold."`
	// Select is the loss that chooses among several λ for classes: SelectMSE (or "") of scores on the rows of all
	// folds, or SelectError or SelectLogLoss of predictions for the rows of the first fold.
	Select string `flag:"select" values:"mse,error,log_loss" help:"Loss that chooses among several values of lambda for classes: mse (of scores against ±1 codes, on the rows of all folds), or error or log_loss (on the rows of the first fold). With --calibrate, error and log_loss score each half of these rows by probabilities fitted to the other half. Otherwise error takes the largest score, and log_loss the softmax of the scores times the best of 15 factors. The default is error for iterative learners, and mse for ridge. After a search for features on 1,500 rows or more, ridge chooses by log_loss among the values that were tried by mse, except with class weights or in retrain. Sums allow only mse, because the others need rows."`
}

// The values of LambdaOptions.Select.
const (
	SelectMSE     = "mse"
	SelectError   = "error"
	SelectLogLoss = "log_loss"
)

// Selections returns the values of LambdaOptions.Select.
func Selections() []string { return []string{SelectMSE, SelectError, SelectLogLoss} }

// DefaultFolds is the default number of folds.
const DefaultFolds = 5

// MaxFolds limits the number of folds, because a worker holds a sum for each.
const MaxFolds = 100

// Validate returns a usage error if options are invalid whatever the data.
func (l LambdaOptions) Validate() error {
	for _, v := range l.Path {
		if !(v >= 0) || math.IsInf(v, 0) {
			return exit.Usage("--lambda must be a number ≥ 0 (have %g)", v)
		}
	}
	switch {
	case l.Select != "" && !slices.Contains(Selections(), l.Select):
		return exit.Usage("--select must be %s (have %q)%s", strings.Join(Selections(), ", "), l.Select,
			option.DidYouMean(l.Select, Selections()))
	case l.Selects() && (l.C != 0 || len(l.Path) == 1):
		return exit.Usage("--select %s chooses among several values of --lambda; there is only one", l.Select)
	case l.C != 0 && len(l.Path) > 0:
		return exit.Usage("--C and --lambda are mutually exclusive (C = 1/(λn)): give one of them")
	case l.C < 0 || math.IsNaN(l.C) || math.IsInf(l.C, 0):
		return exit.Usage("--C must be above 0 (have %g)", l.C)
	case l.Folds < 0 || l.Folds > MaxFolds:
		return exit.Usage("--folds must be between 2 and %d (have %d)", MaxFolds, l.Folds)
	case l.Folds == 1 && l.C == 0 && len(l.Path) != 1:
		return exit.Usage("--folds 1: choosing among several λ needs at least 2")
	}
	return nil
}

// Selects reports whether the held-out rows of one fold choose λ.
func (l LambdaOptions) Selects() bool { return l.Select != "" && l.Select != SelectMSE }

// Auto reports whether neither λ nor C was given.
func (l LambdaOptions) Auto() bool { return l.C == 0 && len(l.Path) == 0 }

// Values returns the λ to try on n rows, and the number of folds: 1 if there is only one λ and no held-out
// error was requested.
func (l LambdaOptions) Values(n float64) (lambda []float64, folds int) {
	switch {
	case l.C != 0:
		lambda = []float64{1 / (l.C * n)}
	case len(l.Path) > 0:
		lambda = l.Path
	default:
		lambda = ridge.AutoLambda()
	}
	folds = l.Folds
	if folds == 0 {
		folds = DefaultFolds
		if len(lambda) == 1 {
			folds = 1
		}
	}
	return lambda, folds
}

// Searches returns the values of Options.Search.
func Searches() []string { return []string{tuning.AutoSearch, tuning.NoSearch} }

func (o Options) validateSearch() error {
	if !slices.Contains(Searches(), o.Search) {
		return exit.Usage("--search must be %s (have %q)%s", strings.Join(Searches(), " or "), o.Search,
			option.DidYouMean(o.Search, Searches()))
	}
	return nil
}

// WithKernels returns the options with the default Kernels for a search.
func (o Options) WithKernels() Options {
	switch {
	case o.Kernels == nil && o.Kernel == nil:
		o.Kernels = tuning.Families()
	case o.Kernels == nil:
		o.Kernels = []kernel.Options{o.Kernel}
	}
	if o.Kernel == nil && len(o.Kernels) > 0 {
		o.Kernel = o.Kernels[0]
	}
	return o
}

// Searching reports whether the search is on and has something to choose.
func (o Options) Searching() bool {
	return o.Search == tuning.AutoSearch && len(tuning.Kernels(o.Kernels)) > 0
}

// Resizes tells whether the number of features is to be chosen.
func (o Options) Resizes() bool { return o.Size.Chooses() && o.Iterative() == nil }

// hasFeatures tells whether a kernel has a number of features.
func hasFeatures(k kernel.Options) bool {
	_, learned := k.(kernel.LearnedKernel)
	return !learned && slices.ContainsFunc(option.List(k), func(o *option.Option) bool { return o.Name == "features" })
}

// UpTo returns options with that many features for all kernels, as far as the number is to be chosen.
func (o Options) UpTo(features int) (Options, error) {
	if !o.Resizes() {
		return o, nil
	}
	o = o.WithKernels()
	resize := func(k kernel.Options) (kernel.Options, error) {
		if k == nil || !hasFeatures(k) {
			return k, nil
		}
		return kernel.With(k, "features", strconv.Itoa(features))
	}
	var err error
	if o.Kernel, err = resize(o.Kernel); err != nil {
		return o, Usage(err)
	}
	o.Kernels = slices.Clone(o.Kernels)
	for i, k := range o.Kernels {
		if o.Kernels[i], err = resize(k); err != nil {
			return o, Usage(err)
		}
	}
	return o, nil
}

// validateSize returns a usage error if the number of features cannot be chosen.
func (o Options) validateSize() error {
	if err := o.Size.Validate(); err != nil {
		return Usage(err)
	}
	if !o.Size.Chooses() {
		return nil
	}
	if l := o.Iterative(); l != nil {
		switch {
		case o.Size.Worth > 0:
			return exit.Usage("--worth compares trainings by exact sums, which learner %s does not have; use --learner ridge, "+
				"or --features", o.LearnerName())
		case iterative.DefinitionOf(l).Joint:
			return exit.Usage("--time cannot be used with %s, whose last round alone says how good its weights are; limit --rounds", o.LearnerName())
		case l.Common().Time > 0:
			return exit.Usage("--time and --max_time are mutually exclusive: --time is for the whole training, --max_time for its rounds")
		}
		return nil
	}
	if !hasFeatures(o.Kernel) {
		return exit.Usage("--worth and --time choose the number of features, which --kernel %s does not have; "+
			"leave them out", kernel.FamilyOf(o.Kernel).Name)
	}
	if _, folds := o.Values(1); folds < 2 && o.Size.Worth > 0 {
		return exit.Usage("--worth needs held-out errors: give --folds 5, or several values of --lambda")
	}
	return nil
}

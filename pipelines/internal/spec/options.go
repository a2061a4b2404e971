// Package spec has the options of a training run (Options), their defaults and checks, and the memory that it
// takes (Options.Memory). The learner is either ridge, which is fitted by sums (Options.Ridge), or iterative
// (Options.Rounds). Folding has the folds of a fit by sums. Training and plans use the same methods, so that
// a plan describes what training will do.
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
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// Options are the options of a training run, and the rule of its folds.
type Options struct {
	options.Train
	rule     *profile.FoldRule // assigns rows to folds; nil before the profile, and if their content does
	trains   bool              // the job learns weights
	JobFolds int               // see prepare.Options
}

// WithFoldRule returns the options for rows that the rule assigns to folds.
func (o Options) WithFoldRule(r *profile.FoldRule) Options {
	if r != nil {
		o.rule = r
		o.Learned.HeldOut = o.FoldCount()
	}
	return o
}

// Complete returns the options of a training run, with the files that its kernel names and with defaults. It
// returns an error if options are invalid for any data.
func (o Options) Complete(ctx context.Context) (Options, error) {
	o = o.withKernels() // before LoadKernel, which sets a kernel
	if err := prepare.LoadKernel(ctx, &o.Prepare); err != nil {
		return o, err
	}
	o = o.WithDefaults()
	o.trains = true
	return o, o.Validate()
}

// WithDefaults returns the options with defaults for fields that are not set.
func (o Options) WithDefaults() Options {
	o = o.withKernels()
	o.Search = cmp.Or(o.Search, options.SearchAuto)
	o.Learner = o.learner()
	if o.ChoosesSize() && !slices.ContainsFunc(append(slices.Clone(o.Kernels), o.Kernel), tuning.SetsFeatures) {
		o = o.withMaxFeatures()
	}
	o.Calibrate = cmp.Or(o.Calibrate, options.CalibrationAuto)
	o.Learned = tuning.GameDefaults(o.Learned)
	o.Learned.HeldOut, o.JobFolds = o.FoldCount(), o.FoldCount()
	o.Split.Into(&o.Data)
	return o
}

// Validate returns a usage error if options are invalid for any data.
func (o Options) Validate() error {
	if o.Model == "" {
		return exit.Usagef("--model is missing: name the directory to create")
	}
	if err := prepare.Validate(o.PrepareOptions().Prepare); err != nil {
		return err
	}
	if f := o.LearnedKernel(); f != nil {
		if err := tuning.ValidateGame(o.Learned, f); err != nil {
			return err
		}
	}
	if o.Room > 0 && o.Iterative() != nil {
		return exit.Usagef("--target_room is for models whose sums later data is added to, which learner %s does not have",
			o.LearnerName())
	}
	if err := job.Validate(o.Job, o.Data, o.Model, job.Dir{Flag: "model", Name: o.Model}); err != nil {
		return err
	}
	for _, validate := range []func() error{o.validateSearch, o.validateSize, o.validateLearner, o.validateCalibration,
		o.validateThreshold, o.validateIntervals, o.validateSplit, func() error { return ValidateLambda(o.Lambda) }} {
		if err := validate(); err != nil {
			return err
		}
	}
	return nil
}

// LearnedKernel returns the options of a kernel whose features this job learns, nil for others.
func (o Options) LearnedKernel() kernel.Learned {
	if f, ok := o.Kernel.(kernel.Learned); ok && f.Directory() == "" {
		return f
	}
	return nil
}

// LearnsFeatures reports whether the job learns the features of the kernel.
func (o Options) LearnsFeatures() bool { return o.LearnedKernel() != nil }

// PrepareOptions returns the options of the profile pass. If features are to be learned, its kernel is
// the one from which learning starts.
func (o Options) PrepareOptions() prepare.Options {
	maps := prepare.Options{Prepare: o.Prepare, Trains: o.trains, JobFolds: o.JobFolds}
	if f := o.LearnedKernel(); f != nil {
		maps.LearnedKernel = kernel.FamilyOf(f).Name
		maps.Kernel = f.Start()
	}
	return maps
}

// selections returns the values of options.Lambda.Select.
func selections() []string {
	return option.Names(options.SelectMSE, options.SelectError, options.SelectLogLoss)
}

// DefaultFolds is the default number of folds.
const DefaultFolds = 5

// MaxFolds limits the number of folds, because a worker holds a sum for each.
const MaxFolds = 100

// ValidateLambda returns a usage error if options are invalid for any data.
func ValidateLambda(l options.Lambda) error {
	for _, v := range l.Path {
		if !(v >= 0) || math.IsInf(v, 0) {
			return exit.Usagef("--lambda must be a number ≥ 0 (have %g)", v)
		}
	}
	switch {
	case l.Select != "" && !slices.Contains(selections(), string(l.Select)):
		return exit.Usagef("--select must be %s (have %q)%s", strings.Join(selections(), ", "), l.Select,
			option.DidYouMean(string(l.Select), selections()))
	case l.Selects() && (l.C != 0 || len(l.Path) == 1):
		return exit.Usagef("--select %s chooses among several values of --lambda; there is only one", l.Select)
	case l.C != 0 && len(l.Path) > 0:
		return exit.Usagef("--C cannot be used with --lambda (C = 1/(λn)): give one of them")
	case l.C < 0 || math.IsNaN(l.C) || math.IsInf(l.C, 0):
		return exit.Usagef("--C must be above 0 (have %g)", l.C)
	case l.Folds < 0 || l.Folds > MaxFolds:
		return exit.Usagef("--folds must be 2 to %d (have %d)", MaxFolds, l.Folds)
	case l.Folds == 1 && l.C == 0 && len(l.Path) != 1:
		return exit.Usagef("--folds 1: choosing among several λ needs at least 2")
	}
	return nil
}

// lambdasOf returns the λ to try on n rows: the given values, or auto.
func lambdasOf(l options.Lambda, n float64, auto []float64) []float64 {
	switch {
	case l.C != 0:
		return []float64{1 / (l.C * n)}
	case len(l.Path) > 0:
		return l.Path
	}
	return auto
}

// LambdaValues returns the λ to try on n rows, and the number of folds: 1 if there is only one λ and no held-out
// error was requested.
func LambdaValues(l options.Lambda, n float64) (lambda []float64, folds int) {
	lambda, folds = lambdasOf(l, n, ridge.AutoLambda()), l.Folds
	if folds == 0 {
		folds = DefaultFolds
		if len(lambda) == 1 {
			folds = 1
		}
	}
	return lambda, folds
}

// searches returns the values of Options.Search.
func searches() []string { return option.Names(options.SearchAuto, options.SearchNone) }

func (o Options) validateSearch() error {
	if !slices.Contains(searches(), string(o.Search)) {
		return exit.Usagef("--search must be %s (have %q)%s", strings.Join(searches(), " or "), o.Search,
			option.DidYouMean(string(o.Search), searches()))
	}
	return nil
}

// withKernels returns the options with the default Kernels for a search.
func (o Options) withKernels() Options {
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
	return o.Search == options.SearchAuto && len(tuning.Kernels(o.Kernels)) > 0
}

// ChoosesSize reports whether the number of features is to be chosen.
func (o Options) ChoosesSize() bool { return o.Size.Chooses() && o.Iterative() == nil }

// hasFeatures reports whether a kernel has a number of features.
func hasFeatures(k kernel.Options) bool {
	_, learned := k.(kernel.Learned)
	return !learned && tuning.OptionOf(k, "features") != ""
}

// withMaxFeatures returns the options with the largest number of features for all kernels that have one.
func (o Options) withMaxFeatures() Options {
	resize := func(k kernel.Options) kernel.Options {
		if hasFeatures(k) {
			k, _ = kernel.With(k, "features", strconv.Itoa(tuning.MaxDefaultFeatures)) // every number is valid
		}
		return k
	}
	o.Kernel, o.Kernels = resize(o.Kernel), slices.Clone(o.Kernels)
	for i, k := range o.Kernels {
		o.Kernels[i] = resize(k)
	}
	return o
}

// validateSize returns a usage error if the number of features cannot be chosen.
func (o Options) validateSize() error {
	switch s := o.Size; {
	case !(s.Worth >= 0 && s.Worth < 1):
		return Usage(option.Errorf("worth", "must be at least 0 and below 1 (have %g)", float64(s.Worth)))
	case s.Time < 0:
		return Usage(option.Errorf("time", "must be 0 (any) or longer (have %s)", s.Time))
	case !s.Chooses():
		return nil
	}
	if l := o.Iterative(); l != nil {
		switch {
		case o.Size.Worth > 0:
			return exit.Usagef("--worth compares trainings by exact sums, which learner %s does not have; use --learner ridge, "+
				"or --features", o.LearnerName())
		case iterative.DefinitionOf(l).Joint:
			return exit.Usagef("--time cannot be used with %s, whose last round alone says how good its weights are; limit "+
				"--rounds", o.LearnerName())
		case l.Common().Time > 0:
			return exit.Usagef("--time cannot be used with --max_time: --time is for the whole training, --max_time " +
				"for its rounds")
		}
		return nil
	}
	if !hasFeatures(o.Kernel) {
		return exit.Usagef("--worth and --time choose the number of features, which --kernel %s does not have; "+
			"leave them out", kernel.FamilyOf(o.Kernel).Name)
	}
	if _, folds := o.Values(1); folds < 2 && o.Size.Worth > 0 {
		return exit.Usagef("--worth needs held-out errors: give --folds 5, or several values of --lambda")
	}
	return nil
}

package spec

import (
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

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

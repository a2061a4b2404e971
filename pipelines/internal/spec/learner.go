package spec

import (
	"errors"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/models/falkon"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/exit"

	// The learners of this module.
	_ "github.com/bochner-ml/bochner/models/pca"
	_ "github.com/bochner-ml/bochner/models/sgd"
	_ "github.com/bochner-ml/bochner/models/svm"
)

// learner returns the options of the learner with defaults. The default learner is ridge.
func (o Options) learner() iterative.Options {
	switch l := o.Learner.(type) {
	case nil:
		return ridge.NewLearnerOptions()
	case *ridge.LearnerOptions:
		if l.Solver == iterative.CG {
			return gradients(l).LearnerOptions
		}
		return l
	case iterative.LearnerOptions:
		return l.WithDefaults()
	default:
		return l
	}
}

// gradients returns the fit of ridge by conjugate gradients.
func gradients(l *ridge.LearnerOptions) ByRounds {
	cg := falkon.NewLearnerOptions()
	cg.Weights = l.Weights
	return ByRounds{cg.WithDefaults()}
}

// fewFeatures is the number of features up to which auto always uses the Gram matrix.
const fewFeatures = 30000

// WithSolver returns the options with the solver that ridge uses for the given numbers of rows and features, unless the
// solver is given or another option needs exact sums. It must not depend on the machine, because the model depends on
// the solver.
func (o Options) WithSolver(rows int64, dim, outputs int, regression bool) Options {
	l, _ := o.Learner.(*ridge.LearnerOptions)
	if l == nil || dim <= fewFeatures || regression && outputs > 1 || o.needsSums(l) {
		return o
	}
	g := gradients(l)
	lambda, _ := g.Values(o, float64(rows))
	factors := 1.0
	if len(lambda) > 1 {
		factors += float64(len(lambda))
	}
	n, d := float64(rows), float64(dim)
	columns := float64(outputs * len(lambda))
	// Compare nanoseconds on a core of an AMD EPYC (Zen 5). The Gram matrix takes products on 8 bits, and factors
	// whose size is the smaller of n and D. A hundred rounds map the features and multiply them twice by each
	// column.
	m := min(n, d)
	if gram := n*d*m/400 + factors*m*m*m/125; n*d*(80+50*columns) < gram {
		o.Learner = g.LearnerOptions
	}
	return o
}

// needsSums reports whether options of ridge, or others, need exact sums.
func (o Options) needsSums(l *ridge.LearnerOptions) bool {
	_, raw := o.Kernel.(*identity.Options) // columns may lie far from zero, where cg's grid is coarse
	chosen := l.Solver == iterative.Gram || l.Grid != "" && l.Grid != features.AutoBits
	return raw || chosen || o.Lambda.Select != "" || slices.Contains(o.Lambda.Path, 0) || o.Room > 0 ||
		o.Size.Chooses() || o.LearnsFeatures()
}

// Ridge returns the options of ridge, nil if it is not fitted by sums.
func (o Options) Ridge() *ridge.LearnerOptions {
	l, _ := o.learner().(*ridge.LearnerOptions)
	return l
}

// Rounds returns the fit of an iterative learner, and false for others.
func (o Options) Rounds() (ByRounds, bool) {
	l, ok := o.learner().(iterative.LearnerOptions)
	return ByRounds{l}, ok
}

// LearnerName returns the registered name of the learner.
func (o Options) LearnerName() string { return iterative.DefinitionOf(o.learner()).Name }

// Values returns the values of λ to try on n rows, and the number of folds: 0 or 1 if no rows are held out.
func (o Options) Values(n int64) (lambda []float64, folds int) {
	if b, ok := o.Rounds(); ok {
		return b.Values(o, float64(n))
	}
	return LambdaValues(o.Lambda, float64(n))
}

// validateLearner checks the options of the learner, and those that it limits, and returns usage errors.
func (o Options) validateLearner() error {
	given := o.learner()
	if err := given.Validate(); err != nil {
		return Usage(err)
	}
	if b, ok := o.Rounds(); ok {
		return b.validate(o)
	}
	l := iterative.DefinitionOf(given)
	switch {
	case o.Ridge() != nil:
		return nil
	case l.Unlabeled:
		return exit.Usagef("learner %s takes rows without labels, so it cannot be trained on labelled data; use Embed", l.Name)
	}
	return exit.Usagef("learner %s is not supported: one-pass learners other than ridge have no solver in this program; "+
		"implement iterative.LearnerOptions", l.Name)
}

// Usage makes an error about an option a usage error.
func Usage(err error) error {
	if _, already := errors.AsType[*exit.UsageError](err); err == nil || already {
		return err
	}
	return &exit.UsageError{Err: err}
}

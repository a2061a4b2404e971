package spec

import (
	"errors"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/models/cg"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/results"

	// The learners of this module.
	_ "github.com/bochner-ml/bochner/models/pca"
	_ "github.com/bochner-ml/bochner/models/sgd"
	_ "github.com/bochner-ml/bochner/models/svm"
)

// fitter is a way to fit weights: by exact sums and a solve, or by rounds.
type fitter interface {
	// options returns the options of the learner with defaults.
	options() iterative.Options
	// validate returns an error if the learner does not support the other options.
	validate(o Options) error
	// Values returns the values of λ to try, and the number of folds: 0 or 1 if no rows are held out. n is the
	// number of rows, or the sum of their weights.
	Values(o Options, n float64) (lambda []float64, folds int)
	// memory adds the memory of the fit to m.
	memory(o Options, m *results.Memory, f Facts, e engine.Engine, readers int)
	// reducingFlags names the flags that reduce the memory of the fit.
	reducingFlags(o Options) string
}

// fitter returns the way to fit the weights of the learner. The default learner is ridge.
func (o Options) fitter() fitter {
	switch l := o.Learner.(type) {
	case nil:
		return bySums{ridge.NewLearnerOptions()}
	case *ridge.LearnerOptions:
		if l.Solver == iterative.CG {
			return gradients(l)
		}
		return bySums{l}
	case iterative.LearnerOptions:
		return ByRounds{l.WithDefaults()}
	default:
		return unsupported{bySums{ridge.NewLearnerOptions()}, l}
	}
}

// gradients returns the fit of ridge by conjugate gradients.
func gradients(l *ridge.LearnerOptions) ByRounds {
	o := cg.NewLearnerOptions()
	o.Weights = l.Weights
	return ByRounds{o.WithDefaults()}
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
		o.Learner = g.options()
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

// unsupported stands for a one-pass learner that cannot be trained, because its sums and its solver are not
// those of ridge.
type unsupported struct {
	bySums
	given iterative.Options
}

func (u unsupported) options() iterative.Options { return u.given }

func (u unsupported) validate(Options) error {
	l := iterative.DefinitionOf(u.given)
	if l.Unlabeled {
		return exit.Usagef("learner %s takes rows without labels, so it cannot be trained on labelled data; use Embed", l.Name)
	}
	return exit.Usagef("learner %s is not supported: one-pass learners other than ridge have no solver in this program; "+
		"implement iterative.LearnerOptions", l.Name)
}

// Ridge returns the options of ridge, nil if it is not fitted by sums.
func (o Options) Ridge() *ridge.LearnerOptions {
	if s, ok := o.fitter().(bySums); ok {
		return s.LearnerOptions
	}
	return nil
}

// Rounds returns the fit of an iterative learner, and false for others.
func (o Options) Rounds() (ByRounds, bool) {
	b, ok := o.fitter().(ByRounds)
	return b, ok
}

// LearnerName returns the registered name of the learner.
func (o Options) LearnerName() string { return iterative.DefinitionOf(o.fitter().options()).Name }

// Values returns the values of λ to try on n rows and the number of folds; see fitter.
func (o Options) Values(n int64) (lambda []float64, folds int) {
	return o.fitter().Values(o, float64(n))
}

// validateLearner checks the options of the learner and returns usage errors.
func (o Options) validateLearner() error {
	f := o.fitter()
	if err := f.options().Validate(); err != nil {
		return Usage(err)
	}
	return f.validate(o)
}

// Usage makes an error about an option a usage error.
func Usage(err error) error {
	if _, already := errors.AsType[*exit.UsageError](err); err == nil || already {
		return err
	}
	return &exit.UsageError{Err: err}
}

package spec

import (
	"errors"
	"slices"

	bits "github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/linear"
	"github.com/bochner-ml/bochner/models/falkon"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"

	// The learners of this module.
	_ "github.com/bochner-ml/bochner/models/pca"
	_ "github.com/bochner-ml/bochner/models/sgd"
	_ "github.com/bochner-ml/bochner/models/svm"
)

// fitter is how the weights are fitted: by exact sums and a solve, or by rounds.
type fitter interface {
	// options returns the options with defaults filled in.
	options() iterative.Options
	// validate returns an error if options cannot be used with the other options of a training.
	validate(o Options) error
	// Values returns the values of λ to try on n rows, or rows with weights of that sum, and the
	// number of folds: 0 or 1 if no rows are held out.
	Values(o Options, n float64) (lambda []float64, folds int)
	// memory adds the memory of the fit.
	memory(o Options, m *Memory, f Facts, e engine.Engine, lanes int)
	// smaller names the flags that reduce the memory of the fit.
	smaller(o Options) string
}

// fitter returns the fit of the learner; ridge is the default.
func (o Options) fitter() fitter {
	switch l := o.Learner.(type) {
	case nil:
		return bySums{ridge.NewTraining()}
	case *ridge.Training:
		if l.Solver == iterative.CG {
			return gradients(l)
		}
		return bySums{l}
	case iterative.Iterative:
		return ByRounds{l.Complete()}
	default:
		return unsupported{bySums{ridge.NewTraining()}, l}
	}
}

// gradients returns the fit of ridge by conjugate gradients.
func gradients(l *ridge.Training) ByRounds {
	t := falkon.NewTraining()
	t.Weights = l.Weights
	return ByRounds{t.Complete()}
}

// fewFeatures is up to how many features auto takes the Gram matrix, whatever it costs.
const fewFeatures = 30000

// Solved returns the options with the solver that ridge has for that many rows and features, unless it is
// given or another option needs the exact sums. It depends on no machine, because the model does.
func (o Options) Solved(rows int64, features, outputs int, regression bool) Options {
	l, _ := o.Learner.(*ridge.Training)
	_, raw := o.Kernel.(*linear.Options) // columns may lie far from zero, where cg's grid is coarse
	given := l == nil || raw || l.Solver == iterative.Gram || l.Grid != "" && l.Grid != bits.AutoBits ||
		o.Lambda.Select != "" || slices.Contains(o.Lambda.Path, 0)
	if given || o.Room > 0 || o.Size.Chooses() || o.LearnsFeatures() || regression && outputs > 1 ||
		features <= fewFeatures {
		return o
	}
	g := gradients(l)
	lambda, _ := g.Values(o, float64(rows))
	n, d, factors, columns := float64(rows), float64(features), 1.0, float64(outputs*len(lambda))
	if len(lambda) > 1 {
		factors += float64(len(lambda))
	}
	// Nanoseconds of a core of an AMD EPYC (Zen 5): products on 8 bits, and factors in the smaller
	// of n and D; a hundred rounds, in which features are mapped and multiplied twice by each
	// column.
	m := min(n, d)
	if gram := n*d*m/400 + factors*m*m*m/125; n*d*(80+50*columns) < gram {
		o.Learner = g.options()
	}
	return o
}

// unsupported stands for a one-pass learner that a training cannot fit: its sums and its solver are
// not ridge's.
type unsupported struct {
	bySums
	given iterative.Options
}

func (u unsupported) options() iterative.Options { return u.given }

func (u unsupported) validate(Options) error {
	l := iterative.DefinitionOf(u.given)
	if l.Unlabeled {
		return exit.Usage("learner %s takes rows without labels, so it cannot be trained on labelled data; use Embed", l.Name)
	}
	return exit.Usage("learner %s is not supported: one-pass learners other than ridge have no solver in this program; "+
		"implement learner.Iterative", l.Name)
}

// Ridge returns the options of ridge; nil if another learner fits the weights.
func (o Options) Ridge() *ridge.Training {
	if s, ok := o.fitter().(bySums); ok {
		return s.Training
	}
	return nil
}

// Rounds returns the fit of an iterative learner; false for others.
func (o Options) Rounds() (ByRounds, bool) {
	b, ok := o.fitter().(ByRounds)
	return b, ok
}

// LearnerName is the registered name of the learner.
func (o Options) LearnerName() string { return iterative.DefinitionOf(o.fitter().options()).Name }

// Iterative returns the options of an iterative learner, or nil for ridge.
func (o Options) Iterative() iterative.Iterative {
	l, _ := o.Learner.(iterative.Iterative)
	return l
}

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

// Usage returns an error about an option as a usage error.
func Usage(err error) error {
	var already *exit.UsageError
	if err == nil || errors.As(err, &already) {
		return err
	}
	return &exit.UsageError{Err: err}
}

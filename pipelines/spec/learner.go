package spec

import (
	"errors"

	"github.com/bochner-ml/bochner/models/learner"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"

	// The learners of this module.
	_ "github.com/bochner-ml/bochner/models/falkon"
	_ "github.com/bochner-ml/bochner/models/pca"
	_ "github.com/bochner-ml/bochner/models/sgd"
	_ "github.com/bochner-ml/bochner/models/svm"
)

// fitter is how the weights are fitted: by exact sums and a solve, or by rounds.
type fitter interface {
	// options returns the options with defaults filled in.
	options() learner.Options
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
		return bySums{l}
	case learner.Iterative:
		return ByRounds{l.Complete()}
	default:
		return unsupported{bySums{ridge.NewTraining()}, l}
	}
}

// unsupported stands for a one-pass learner that a training cannot fit: its sums and its
// solver are not those of ridge.
type unsupported struct {
	bySums
	given learner.Options
}

func (u unsupported) options() learner.Options { return u.given }

func (u unsupported) validate(Options) error {
	l := learner.Of(u.given)
	if l.Unlabeled {
		return exit.Usage("learner %s takes rows without labels, so it cannot be trained on labelled data; use Embed", l.Name)
	}
	return exit.Usage("learner %s is not supported: one-pass learners other than ridge have no solver in this program; implement learner.Iterative", l.Name)
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
func (o Options) LearnerName() string { return learner.Of(o.fitter().options()).Name }

// Iterative returns the options of an iterative learner, or nil for ridge.
func (o Options) Iterative() learner.Iterative {
	l, _ := o.Learner.(learner.Iterative)
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

package svm

import (
	"cmp"
	"math"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/loss"
)

func init() {
	iterative.Register(iterative.Definition{
		Name: "svm", Aliases: []string{"svc", "svr"}, Summary: "dual coordinate ascent, with an optimality certificate",
		Weighted: true,
		New:      func() iterative.Options { return NewLearnerOptions() }, Open: iterative.OpenerOf(newLearner),
	})
}

// LearnerOptions holds the options of the learner svm. Use NewLearnerOptions for the defaults.
type LearnerOptions struct {
	iterative.Shared

	// For svm: value of the constant feature whose weight is the intercept. It is regularised like the
	// other weights; 0 means no intercept.
	Bias float64 `flag:"bias"`

	// For svm: most passes over the rows in memory between two passes over all rows; 0 chooses.
	Passes int `flag:"passes"`
}

var _ iterative.LearnerOptions = (*LearnerOptions)(nil)

// NewLearnerOptions returns the default options.
func NewLearnerOptions() *LearnerOptions {
	return &LearnerOptions{Shared: iterative.Defaults(), Bias: defaultBias}
}

// Validate returns errors that do not depend on the data.
func (o *LearnerOptions) Validate() error {
	switch {
	case !(o.Bias >= 0 && o.Bias <= maxBias):
		return option.Errorf("bias", "must be 0 (no intercept) to %g (have %g)", float64(maxBias), o.Bias)
	case o.Passes < 0 || o.Passes > maxPasses:
		return option.Errorf("passes", "must be 1 to %d, or 0 to choose (have %d)", maxPasses, o.Passes)
	case o.Loss == "softmax":
		return option.Errorf("loss", "softmax takes all outputs together; use logistic, which takes them one by one, or "+
			"the learner sgd")
	}
	return o.Shared.Validate()
}

// WithDefaults fills in rounds and gap. Several partitions need many more rounds for a small gap.
func (o *LearnerOptions) WithDefaults() iterative.LearnerOptions {
	c := *o
	if c.Rounds == 0 {
		c.Gap = cmp.Or(c.Gap, 1e-3)
	}
	c.Shared = c.WithRounds(1000)
	return &c
}

// DefaultLoss is hinge for classes and epsilon_insensitive for targets.
func (o *LearnerOptions) DefaultLoss(classes bool) string {
	if classes {
		return "hinge"
	}
	return "epsilon_insensitive"
}

// Seal returns the options of the problem.
func (o *LearnerOptions) Seal(p loss.Problem, s iterative.Setting) (any, error) {
	sealed := options{Problem: p, Bias: o.Bias, Partitions: o.Partitions, Passes: o.Passes, Seed: s.Seed}
	_, err := newLearner(sealed)
	return sealed, err
}

// Needs returns what training needs. The result is the optimum, wherever a run starts; but if patience ends the
// rounds, each λ needs the same start.
//
// A round has fewer steps than the one before, as fewer rows move. Partitions are solved separately, so more of them
// need more steps. Measured numbers were between a twentieth (for classes that are easy to separate) and five times
// this estimate.
func (o *LearnerOptions) Needs(s iterative.Size) iterative.Needs {
	return iterative.Needs{AnyStart: o.Patience == 0, Steps: 10 * math.Sqrt(float64(o.Rounds*o.Partitions)),
		Memory: memory(s)}
}

// memory returns the memory for training: weights and steps in float64, the window, and dual variables
// before, after, and in their encoding.
func memory(s iterative.Size) iterative.Memory {
	k, d := int64(s.Outputs), int64(s.Features)
	if k == 2 {
		k = 1 // two classes have one problem
	}
	weights := 4 * k * d
	rows := max(s.Rows, 1) / int64(max(1, s.Partitions))
	window := min(int64(defaultWindow), 4*d*rows)
	return iterative.Memory{
		Worker: 12 * weights, Partition: 10*weights + window + 32*k*(window/(4*d)) + 24*k*rows,
		Update: 12*weights + 12*k*rows, Row: 4 * k,
	}
}

// Fit trains on rows in memory, like a job over files with one partition. Nil options mean NewLearnerOptions().
// The last report of the result has the duality gap, which bounds how far the weights are from the optimum.
func Fit(d *linear.Data, lambda float64, o *LearnerOptions) (*iterative.FitResult, error) {
	if o == nil {
		o = NewLearnerOptions()
	}
	return iterative.Fit(d, lambda, o)
}

const (
	maxBias   = 1e6
	maxPasses = 1000
)

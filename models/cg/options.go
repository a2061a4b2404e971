package cg

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/loss"
)

// name is the registered name of the learner.
const name = "cg"

func init() {
	iterative.Register(iterative.Definition{
		Name: name, Aliases: []string{"falkon"},
		Summary: "the least squares of ridge by conjugate gradients, for tens of thousands of features", Weighted: true,
		Joint: true,
		New:   func() iterative.Options { return NewLearnerOptions() },
		Open: func(data []byte, files iterative.Files) (iterative.Learner, error) {
			var o options
			if err := json.Unmarshal(data, &o); err != nil {
				return nil, fmt.Errorf("cg: options of the learner: %w", err)
			}
			return newLearner(o, files)
		},
	})
}

// LearnerOptions holds the options of the learner cg. Use NewLearnerOptions for the defaults.
type LearnerOptions struct {
	iterative.Shared

	// For cg: relative residual of the equations of ridge at which an output is done, in units of the
	// square root of lambda; 0 is 0.01, which leaves an error far below the held-out error.
	Tolerance float64 `flag:"tolerance"`

	// For cg: rows of the sample whose kernel preconditions the equations; more rows need fewer
	// rounds. 0 chooses.
	Sample int `flag:"preconditioner"`
}

var _ iterative.LearnerOptions = (*LearnerOptions)(nil)

// NewLearnerOptions returns the default options.
func NewLearnerOptions() *LearnerOptions { return &LearnerOptions{Shared: iterative.Defaults()} }

const (
	maxSampled   = 1 << 13
	sampleRows   = 4096      // default number of rows of the sample
	sampleValues = 256 << 20 // most features of the sample: 1 GiB
)

// Validate returns errors that do not depend on the data.
func (o *LearnerOptions) Validate() error {
	switch {
	case !(o.Tolerance >= 0 && o.Tolerance <= 1):
		return option.Errorf("tolerance", "must be a number between 0 (choose) and 1 (have %g)", o.Tolerance)
	case o.Sample < 0 || o.Sample > maxSampled:
		return option.Errorf("preconditioner", "must be 1 to %d rows, or 0 to choose (have %d)", maxSampled, o.Sample)
	case o.Loss != "" && o.Loss != squared:
		return option.Errorf("loss", "must be %s for %s (have %q)", squared, name, o.Loss)
	case o.Gap != 0:
		return option.Errorf("gap", "cannot be used with %s, which stops at --tolerance", name)
	case o.Time != 0:
		return option.Errorf("max_time",
			"cannot be used with %s, whose last round alone says how good its weights are; limit --rounds", name)
	case o.Patience != 0:
		return option.Errorf("patience", "cannot be used with %s, which stops at --tolerance", name)
	case o.Rounds != 0 && o.Rounds < minRounds:
		return option.Errorf("rounds", "must be %d or more for %s, or 0 (have %d)", minRounds, name, o.Rounds)
	}
	return o.Shared.Validate()
}

// WithDefaults fills in rounds and the tolerance.
func (o *LearnerOptions) WithDefaults() iterative.LearnerOptions {
	c := *o
	c.Shared = c.WithRounds(500)
	c.Tolerance = cmp.Or(o.Tolerance, 0.01)
	return &c
}

// DefaultLoss is squared.
func (o *LearnerOptions) DefaultLoss(bool) string { return squared }

// Seal returns the options of the problem. To compare values of λ, ten times the tolerance is enough.
func (o *LearnerOptions) Seal(p loss.Problem, s iterative.Setting) (any, error) {
	sealed := options{Problem: p, Path: s.Path, Tolerance: o.Tolerance, Heaviest: max(1, s.Heaviest), Planned: o.Rounds}
	if s.Trial {
		sealed.Tolerance = min(1, 10*sealed.Tolerance)
	}
	_, err := newLearner(sealed, nil)
	sealed.Sample = s.SampleFile
	return sealed, err
}

// Needs returns what training needs: a sample for the preconditioner, and memory for the sums of each partition, the
// state, and the preconditioner. The equations determine the result, wherever a run starts.
func (o *LearnerOptions) Needs(s iterative.Size) iterative.Needs {
	sample := cmp.Or(o.Sample, max(1, min(sampleRows, s.Features, sampleValues/s.Features)))
	lambdas := int64(max(1, s.Lambdas))
	d, k, m := int64(s.Features), int64(max(1, s.Outputs))*lambdas, int64(sample)
	return iterative.Needs{Sample: sample, AnyStart: true, Memory: iterative.Memory{Worker: 28 * k * d,
		Partition: 4*stripRows*d + 24*k*d, Update: 120*k*d + 8*m*d + 8*(2+lambdas)*m*m}}
}

package sgd

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/loss"
)

func init() {
	iterative.Register(iterative.Definition{
		Name: "sgd", Summary: "mini-batches, for many features and for softmax", Weighted: true,
		New: func() iterative.Options { return NewLearnerOptions() }, Open: iterative.OpenerOf(newLearner),
	})
}

// LearnerOptions holds the options of the learner sgd. Use NewLearnerOptions for the defaults.
type LearnerOptions struct {
	iterative.Shared

	// For sgd: momentum (halves its rate when the objective stops falling), adagrad, or sgd (with a
	// rate that decays with the epochs).
	Method Method `flag:"method" values:"momentum,adagrad,sgd"` // "" is momentum

	// For sgd: initial learning rate; 0 finds one by short runs on a sample.
	Rate float64 `flag:"rate"`

	// For sgd: rows per batch; 0 chooses.
	Batch int `flag:"batch"`

	// For images: random augmentations of the training rows in each round, separated by commas: crop
	// (of the size that --scale starts with), flip, brightness:AMOUNT, contrast:AMOUNT,
	// saturation:AMOUNT, with amounts from 0 to 1.
	Augment []string `flag:"augment" placeholder:"STEPS" values:"crop,flip,brightness:,contrast:,saturation:" list:"commas"`
}

var (
	_ iterative.LearnerOptions = (*LearnerOptions)(nil)
	_ iterative.Augmented      = (*LearnerOptions)(nil)
)

// NewLearnerOptions returns the default options.
func NewLearnerOptions() *LearnerOptions {
	return &LearnerOptions{Shared: iterative.Defaults(), Method: Momentum}
}

// Validate returns errors that do not depend on the data.
func (o *LearnerOptions) Validate() error {
	methods := option.Names(Momentum, AdaGrad, SGD)
	switch {
	case o.Method != "" && !slices.Contains(methods, string(o.Method)):
		return option.Errorf("method", "must be one of %s (have %q)", strings.Join(methods, ", "), o.Method)
	case !(o.Rate >= 0) || math.IsInf(o.Rate, 0):
		return option.Errorf("rate", "must be a number > 0, or 0 to find one (have %g)", o.Rate)
	case o.Batch < 0 || o.Batch > maxBatch:
		return option.Errorf("batch", "must be 1 to %d rows, or 0 to choose (have %d)", maxBatch, o.Batch)
	}
	return o.Shared.Validate()
}

// WithDefaults fills in method and rounds.
func (o *LearnerOptions) WithDefaults() iterative.LearnerOptions {
	c := *o
	c.Method = cmp.Or(c.Method, Momentum)
	c.Shared = c.WithRounds(100)
	return &c
}

// DefaultLoss is softmax for classes and squared for targets.
func (o *LearnerOptions) DefaultLoss(classes bool) string {
	if classes {
		return "softmax"
	}
	return "squared"
}

// Augmentation returns Augment.
func (o *LearnerOptions) Augmentation() []string { return o.Augment }

// Needs returns what training needs: a sample to find a rate on, unless it is given, and memory for weights with their
// velocities and gradients.
func (o *LearnerOptions) Needs(s iterative.Size) iterative.Needs {
	weights := 4 * int64(s.Outputs) * int64(s.Features)
	n := iterative.Needs{Memory: iterative.Memory{Worker: 6 * weights, Partition: 8 * weights, Update: 10 * weights}}
	if o.Rate == 0 {
		n.Sample = iterative.SampleSize(s.Features)
	}
	return n
}

// Seal returns the options of the problem. If no rate is given, it finds one on the sample.
func (o *LearnerOptions) Seal(p loss.Problem, s iterative.Setting) (any, error) {
	sealed := options{Problem: p, Method: cmp.Or(o.Method, Momentum), Rate: o.Rate, Batch: o.Batch,
		Partitions: o.Partitions}
	if sealed.Rate == 0 {
		var err error
		if sealed.Rate, err = searchRate(sealed, s.Sample, s.Heaviest); err != nil {
			return nil, err
		}
	}
	if sealed.Method == Momentum {
		sealed.Planned = o.Rounds
	}
	_, err := newLearner(sealed)
	return sealed, err
}

// Fit trains on rows in memory, like a job over files with one partition. Nil options mean NewLearnerOptions().
func Fit(d *linear.Data, lambda float64, o *LearnerOptions) (*iterative.FitResult, error) {
	if o == nil {
		o = NewLearnerOptions()
	}
	return iterative.Fit(d, lambda, o)
}

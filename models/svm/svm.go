package svm

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/loss"
)

// options are the options of the learner. Equal options, rows and partitions give equal bytes.
type options struct {
	loss.Problem // Lambda > 0; every loss but softmax

	// Bias is the value of the constant feature whose weight is the intercept; 0 means no
	// intercept. defaultBias is for features with norms of about 1.
	Bias float64 `json:"bias"`
	// Partitions is σ': at least the number of partitions with rows.
	Partitions int `json:"partitions"`
	// Passes is the most steps at a row of the window between passes over the whole window; 0 means defaultPasses.
	Passes int `json:"passes,omitempty"`
	// Window is the number of bytes of features of moved rows that a worker caches during a round; 0 means
	// defaultWindow. It holds at least a block of rows.
	Window int64  `json:"window,omitempty"`
	Seed   uint64 `json:"seed,string"` // of the order of the rows
}

// Defaults of options. A window of 256 MiB holds 65,536 rows of 1,024 features, or 6,710 of 10,000. Rows
// that are not in a window together affect each other only in the next round.
const (
	defaultBias   = 1
	defaultPasses = 50
	defaultWindow = 256 << 20
)

// maxRounds limits the number of a round, which is part of the index of a random stream.
const maxRounds = 1 << 31

// learner is an iterative.Learner. Create it with newLearner.
type learner struct {
	options
	loss *loss.Loss
}

var (
	_ iterative.Learner     = (*learner)(nil)
	_ iterative.LinearRound = (*round)(nil)
	_ iterative.Worker      = (*worker)(nil)
)

// newLearner returns the learner for the options. The error names the invalid option.
func newLearner(o options) (*learner, error) {
	l, err := o.Validate()
	switch {
	case err != nil:
		return nil, fmt.Errorf("svm: %w", err)
	case l.Scalar == nil:
		return nil, fmt.Errorf("svm: %s takes all outputs together", o.Loss)
	case o.Lambda == 0:
		return nil, errors.New("svm: lambda is 0; the dual needs lambda > 0")
	case !(o.Bias >= 0 && o.Bias <= maxBias):
		return nil, fmt.Errorf("svm: bias must be 0 (no intercept) to %g (have %g)", float64(maxBias), o.Bias)
	case o.Partitions < 1 || o.Partitions >= maxRounds:
		return nil, fmt.Errorf("svm: %d partitions, want 1 or more", o.Partitions)
	case o.Passes < 0 || o.Passes > maxPasses:
		return nil, fmt.Errorf("svm: passes must be 1 to %d, or 0 for %d (have %d)", maxPasses, defaultPasses, o.Passes)
	case o.Window < 0:
		return nil, fmt.Errorf("svm: window is %d bytes, want 1 or more, or 0 for %d", o.Window, defaultWindow)
	}
	o.Passes, o.Window = cmp.Or(o.Passes, defaultPasses), cmp.Or(o.Window, defaultWindow)
	return &learner{options: o, loss: l}, nil
}

// problems returns the number of weight vectors: one for each output, but one for two classes, where the
// second would be the negative of the first.
func (l *learner) problems() int {
	if l.mirrored() {
		return 1
	}
	return l.Outputs
}

// mirrored reports whether there are two classes, so that sums over outputs count everything twice.
func (l *learner) mirrored() bool { return !l.Regression && l.Outputs == 2 }

// copies returns how often each problem counts in the objective.
func (l *learner) copies() float64 {
	if l.mirrored() {
		return 2
	}
	return 1
}

// Start implements iterative.Learner. init must have the same outputs and features. Dual variables do not follow from
// weights, so with init the first round only finds some: the slopes at init's scores, a_i = −∂ℓ/∂s, as at an optimum.
// They are scaled down by a common factor if that raises the dual, which is then no worse than at zero.
//
// These dual variables are in their domain whatever λ init was trained with. But w(a) is not init: another
// λ scales it, and slopes at kinks are not unique. Its objective may be a hundred times init's. So the
// second round still publishes init, with the gap to the dual reached so far, and later rounds publish
// w(a). From then on the dual is guaranteed to improve in each round, but not the objective.
func (l *learner) Start(init *linear.Model) ([]byte, error) {
	p, d := l.problems(), l.Dim
	s := newState(p, d)
	if init == nil {
		return s.encode(l), nil
	}
	if err := iterative.CheckInit(init, l.Outputs, d); err != nil {
		return nil, fmt.Errorf("svm: %w", err)
	}
	s.given = true
	for c := range p {
		for j := range d {
			w := float64(init.W[c*d+j])
			if l.mirrored() {
				// Only the difference of the two weight vectors matters.
				w = (w - float64(init.W[d+j])) / 2
			}
			s.weights[c*d+j] = w
		}
		b := float64(init.B[c])
		if l.mirrored() {
			b = (b - float64(init.B[1])) / 2
		}
		switch {
		case l.Bias > 0:
			s.bias[c] = b / l.Bias
		case b != 0:
			return nil, errors.New("svm: earlier model: has intercepts, but bias is 0")
		}
	}
	return s.encode(l), nil
}

func (l *learner) Open(data []byte) (iterative.Round, error) {
	s, err := decodeState(l, data)
	if err != nil {
		return nil, err
	}
	return newRound(l, s), nil
}

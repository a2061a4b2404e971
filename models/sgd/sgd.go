package sgd

import (
	"cmp"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/loss"
)

// Method says how batches change the weights.
type Method string

// Values of LearnerOptions.Method.
const (
	SGD      Method = "sgd"
	Momentum Method = "momentum"
	AdaGrad  Method = "adagrad"
)

// options are the options of the learner. Equal options, rows and partitions give equal bytes.
type options struct {
	loss.Problem // Lambda may be 0

	Method Method `json:"method"` // SGD, Momentum or AdaGrad
	// Rate is the initial η, above 0. searchRate finds one.
	Rate float64 `json:"rate"`
	// Batch is the number of rows per batch; 0 means defaultBatch, or less for Momentum with few rows.
	Batch     int    `json:"batch"`
	Intercept string `json:"intercept"` // free: it is not regularised
	// Partitions is the number of partitions with rows. The schedule of sgd depends on Rows/Partitions.
	Partitions int `json:"partitions"`

	// Planned is the most rounds; 0 if unknown. Over the last third of them the rate of momentum falls (to
	// 1/64 if there are many), which removes its noise.
	Planned int `json:"planned,omitempty"`
}

// learner is an iterative.Learner. Create it with newLearner.
type learner struct {
	options
	loss *loss.Loss
}

var (
	_ iterative.Learner     = (*learner)(nil)
	_ iterative.LinearRound = (*round)(nil)
	_ iterative.Threaded    = (*worker)(nil)
)

const (
	maxEpochs = 1 << 31
	maxBatch  = 1 << 20
)

// newLearner returns the learner for the options. The error names the invalid option.
func newLearner(o options) (*learner, error) {
	l, err := o.Validate()
	o.Intercept = cmp.Or(o.Intercept, "free")
	if o.Batch == 0 && o.Partitions > 0 {
		o.Batch = o.batch()
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("sgd: %w", err)
	case o.Method != SGD && o.Method != AdaGrad && o.Method != Momentum:
		return nil, fmt.Errorf("sgd: unknown method %q; have %s, %s, %s", o.Method, Momentum, AdaGrad, SGD)
	case !(o.Rate > 0) || math.IsInf(o.Rate, 0):
		return nil, fmt.Errorf("sgd: rate is %g, want a number above 0", o.Rate)
	case o.Partitions < 1:
		return nil, fmt.Errorf("sgd: %d partitions, want 1 or more", o.Partitions)
	case o.Batch < 1 || o.Batch > maxBatch:
		return nil, fmt.Errorf("sgd: the rows of a batch must be 1 to %d (have %d)", maxBatch, o.Batch)
	case o.Planned < 0 || o.Planned >= maxEpochs:
		return nil, fmt.Errorf("sgd: %d rounds planned, want 0 or more", o.Planned)
	}
	return &learner{options: o, loss: l}, nil
}

func (l *learner) Start(init *linear.Model) ([]byte, error) {
	k, d := l.Outputs, l.Dim
	s := &state{weights: make([]float32, k*d), intercept: make([]float32, k)}
	if l.Method != SGD {
		s.kept, s.interceptKept = make([]float32, k*d), make([]float32, k)
	}
	if init == nil {
		return s.encode(l), nil
	}
	if err := iterative.CheckInit(init, k, d); err != nil {
		return nil, fmt.Errorf("sgd: %w", err)
	}
	copy(s.weights, init.W)
	copy(s.intercept, init.B)
	return s.encode(l), nil
}

func (l *learner) Open(data []byte) (iterative.Round, error) {
	s, err := decodeState(l, data)
	if err != nil {
		return nil, err
	}
	return &round{learner: l, state: s}, nil
}

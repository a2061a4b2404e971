package sgd

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/models/iterative"
)

// defaultBatch is the batch size if Batch is 0. On 20,000 rows of MNIST (1,024 Fourier features, softmax, λ = 1e-6, 4
// partitions), batches of 16, 64 and 256 give these objectives after 8 epochs: adagrad 0.120, 0.139 and 0.175 in 0.7,
// 0.4 and 0.3 s; sgd 0.154, 0.206 and 0.395 in 0.4, 0.3 and 0.3 s. Averaging a partition's weights over the epoch
// gives 0.176 and 0.245 with batches of 64, so the last weights are used.
const defaultBatch = 64

// searchRate tries the scale times 2ʲ, lowest ≤ j ≤ highest.
const (
	lowest, highest = -6, 9
	passes          = 4
)

// searchRate returns the rate that works best on a sample of the rows, starting from zero weights. It tries
// a scale computed from the rows times powers of two, and takes the rate with the least objective after
// some passes, the smaller of equal ones. b may have any number of rows; the options need no Rate. The
// result is the same on every machine.
//
// The scale of sgd is the rate at which a step on one row cannot overshoot: one divided by the smoothness
// of the loss times the mean of ‖φ‖². The scale of adagrad is the rate whose first step changes scores by
// about 1: one divided by the mean of Σ|φ_j|.
//
// The sample has no weights. heaviest is the largest weight of a row, in units of the mean weight. One row
// can make a batch heavier by heaviest divided by its size, relative to its weight. So the rate of sgd and
// momentum is divided by 1 plus this number.
func searchRate(o options, b iterative.Block, heaviest float64) (float64, error) {
	batch := o.Batch
	if batch == 0 && heaviest > 1 {
		batch = o.batch()
	}
	o.Rows, o.Partitions, o.Rate, o.Planned = int64(b.N), 1, 1, 0
	l, err := newLearner(o)
	if err != nil {
		return 0, err
	}
	b.Check("sgd", o.Dim)
	b.HeldOut = false
	var squares, sizes float64
	for _, x := range b.Phi[:b.N*b.D] {
		squares += float64(float64(x) * float64(x))
		sizes += math.Abs(float64(x))
	}
	if !(sizes > 0) || math.IsInf(squares, 0) {
		return 0, errors.New("sgd: rate: the features of the sample are all zero, or not finite")
	}
	smooth := l.loss.Smooth()
	if math.IsInf(smooth, 1) {
		smooth = 1
	}
	scale := float64(b.N) / (smooth * squares)
	if l.Method == AdaGrad {
		scale = float64(b.N) / sizes
	}
	top := highest
	if l.Method == Momentum {
		// A few passes over a sample do not show the effect of the velocity. So start at the scale, which
		// is one divided by the smoothness of the objective, and only try smaller rates.
		top = 0
		if o.Weights != nil {
			scale /= slices.Max(o.Weights)
		}
	}
	best, least := 0.0, math.Inf(1)
	for j := lowest; j <= top; j++ {
		rate := math.Ldexp(scale, j)
		objective, err := l.try(rate, b)
		if err != nil {
			return 0, err
		}
		if objective < least {
			best, least = rate, objective
		}
	}
	if best == 0 {
		return 0, fmt.Errorf("sgd: rate: no rate from %g lowers the objective", math.Ldexp(scale, lowest))
	}
	if heaviest > 1 && l.Method != AdaGrad {
		best /= 1 + heaviest/float64(batch)
	}
	return best, nil
}

// try returns the objective after some passes over b at that rate; +Inf if it is NaN.
func (l *learner) try(rate float64, b iterative.Block) (float64, error) {
	o := l.options
	o.Rate = rate
	trial, err := newLearner(o)
	if err != nil {
		return math.Inf(1), nil // the rate overflows
	}
	data, err := trial.Start(nil)
	if err != nil {
		return 0, err
	}
	s, err := decodeState(trial, data)
	if err != nil {
		return 0, err
	}
	for {
		r := &round{learner: trial, state: s}
		got, err := r.Worker(0, nil)
		if err != nil {
			return 0, err
		}
		w := got.(*worker)
		if err := trial.CheckLabels(b.Y); err != nil {
			return 0, fmt.Errorf("sgd: rate: %w", err)
		}
		if r.round == passes {
			if w.measure(b) != nil {
				return math.Inf(1), nil
			}
			return w.partial.learn.Mean() + r.Penalty(r.weights), nil
		}
		if w.Take(b) != nil {
			return math.Inf(1), nil
		}
		if _, _, err := w.End(); err != nil {
			return math.Inf(1), nil
		}
		s = &w.partial.state
		s.round = r.round + 1
	}
}

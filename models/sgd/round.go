package sgd

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/loss"
)

// round is an epoch: a state that workers share.
type round struct {
	*learner
	*state
}

func (r *round) Reads() bool { return true }

func (r *round) Done() bool { return r.last() }

// last reports whether the rate of momentum has reached its minimum, so that the round only measures the gradient.
func (r *round) last() bool { return r.Method == Momentum && r.schedule.cuts == maxCuts }

func (r *round) Model() *linear.Model {
	return &linear.Model{K: r.Outputs, D: r.Dim, W: slices.Clone(r.weights), B: slices.Clone(r.intercept)}
}

// Update implements iterative.Round. It averages the results of the partitions, weighted by their rows and
// added in float64, in the order of the partitions.
func (r *round) Update(next func() ([]byte, error)) ([]byte, iterative.Report, error) {
	fail := func(err error) ([]byte, iterative.Report, error) { return nil, iterative.Report{}, err }
	var learn, held loss.Tally
	sums := map[string][]float64{}
	var slope []float32
	var biasSlope []float64
	if r.last() {
		slope, biasSlope = make([]float32, len(r.weights)), make([]float64, r.Outputs)
	}
	err := iterative.EachPartial(next, func(partition int, data []byte) error {
		f, err := decodePartial(r.learner, data, r.last())
		if err != nil {
			return fmt.Errorf("sgd: round %d: partition %d: partial result: %w", r.round, partition, err)
		}
		learn.Merge(f.learn)
		held.Merge(f.heldOut)
		for i, g := range f.slope {
			slope[i] += g
		}
		for c, g := range f.biasSlope {
			biasSlope[c] += g
		}
		share := float64(f.learn.Rows)
		f.arrays(r.learner, func(name string, v *[]float32, _ ...int) {
			if sums[name] == nil {
				sums[name] = make([]float64, len(*v))
			}
			sum := sums[name]
			for i, x := range *v {
				sum[i] += float64(share * float64(x))
			}
		})
		return nil
	})
	if err != nil {
		return fail(err)
	}
	if learn.Rows != r.Rows {
		return fail(fmt.Errorf("sgd: round %d: %d training rows, the options say %d", r.round, learn.Rows, r.Rows))
	}
	s := &state{round: r.round + 1}
	s.arrays(r.learner, func(name string, v *[]float32, _ ...int) {
		*v = make([]float32, len(sums[name]))
		for i, x := range sums[name] {
			(*v)[i] = float32(x / float64(learn.Rows))
		}
	})
	report := iterative.NewReport(learn, held, r.Penalty(r.weights))
	report.Round = r.round
	s.schedule = r.schedule.next(report.Objective)
	if r.last() {
		report.Above = r.above(slope, biasSlope, learn.Rows)
	}
	return s.encode(r.learner), report, nil
}

// state is what an epoch starts from, and the result of a partition.
type state struct {
	round               int
	weights, intercept  []float32 // k×d and k
	kept, interceptKept []float32 // A of adagrad, V of momentum; nil for sgd
	schedule            schedule  // for momentum only
}

const (
	stateKind   = "sgd state 1"
	partialKind = "sgd found 1"
)

// arrays calls f with every array of the state and its shape.
func (s *state) arrays(l *learner, f func(name string, v *[]float32, shape ...int)) {
	k, d := l.Outputs, l.Dim
	f("weights", &s.weights, k, d)
	f("intercept", &s.intercept, k)
	if name := map[Method]string{AdaGrad: "squares", Momentum: "velocity"}[l.Method]; name != "" {
		f(name, &s.kept, k, d)
		f("intercept_"+name, &s.interceptKept, k)
	}
}

// code reads or writes the arrays.
func (s *state) code(l *learner, r *loss.Record) {
	s.arrays(l, func(name string, v *[]float32, shape ...int) { loss.Array(r, name, v, shape...) })
	if l.Method == AdaGrad && r.Err == nil {
		if least := min(slices.Min(s.kept), slices.Min(s.interceptKept)); least < 0 {
			r.Err = fmt.Errorf("sum of squares %g", least)
		}
	}
}

func (s *state) encode(l *learner) []byte {
	r := loss.NewState(stateKind, l.options, s.round)
	s.schedule.write(l, r)
	s.code(l, r)
	return r.Encode()
}

func decodeState(l *learner, data []byte) (*state, error) {
	r, round := loss.OpenState(data, stateKind, l.options, maxEpochs)
	s := &state{round: round}
	s.schedule.read(l, r)
	s.code(l, r)
	if r.Err != nil {
		return nil, fmt.Errorf("sgd: state: %w", r.Err)
	}
	return s, nil
}

// partial is the partial result of a worker: its weights and counts.
type partial struct {
	state
	learn, heldOut loss.Tally

	// In the last round of momentum: Σ c ∂ℓ/∂W and Σ c ∂ℓ/∂b over the training rows, at the weights of the state.
	slope     []float32
	biasSlope []float64
}

// code reads or writes the partial result; with the gradient if last is set.
func (f *partial) code(l *learner, r *loss.Record, last bool) {
	r.Tallies(&f.learn, &f.heldOut)
	f.state.code(l, r)
	if last {
		loss.Array(r, "slope", &f.slope, l.Outputs, l.Dim)
		loss.Array(r, "bias_slope", &f.biasSlope, l.Outputs)
	}
}

func (f *partial) encode(l *learner) []byte {
	r := loss.NewRecord(partialKind)
	f.code(l, r, f.slope != nil)
	return r.Encode()
}

func decodePartial(l *learner, data []byte, last bool) (*partial, error) {
	r, f := loss.OpenRecord(data, partialKind), &partial{}
	f.code(l, r, last)
	return f, r.Err
}

package sgd

import (
	"fmt"

	"github.com/bochner-ml/bochner/io/safetensors"
	"github.com/bochner-ml/bochner/models/loss"
)

// state is what an epoch starts from, and the result of a partition.
type state struct {
	round                     int
	weights, intercept        []float32 // k×d and k
	squares, interceptSquares []float32 // A, for adagrad only

	velocity, interceptVelocity []float32 // V, for momentum only
	schedule                    schedule  // for momentum only
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
	if l.Method == AdaGrad {
		f("squares", &s.squares, k, d)
		f("intercept_squares", &s.interceptSquares, k)
	}
	if l.Method == Momentum {
		f("velocity", &s.velocity, k, d)
		f("intercept_velocity", &s.interceptVelocity, k)
	}
}

func (s *state) tensors(l *learner) (t []safetensors.Tensor) {
	s.arrays(l, func(name string, v *[]float32, shape ...int) { t = append(t, safetensors.Of(name, *v, shape...)) })
	return t
}

func (s *state) read(l *learner, r *loss.Record) {
	s.arrays(l, func(name string, v *[]float32, shape ...int) { *v = loss.Array[float32](r, name, shape...) })
	for _, v := range [][]float32{s.squares, s.interceptSquares} {
		for _, x := range v {
			if x < 0 && r.Err == nil {
				r.Err = fmt.Errorf("sum of squares %g", x)
			}
		}
	}
}

func (s *state) encode(l *learner) []byte {
	return loss.EncodeState(stateKind, l.options, s.round, s.schedule.meta(l), s.tensors(l)...)
}

func decodeState(l *learner, data []byte) (*state, error) {
	r, round := loss.OpenState(data, stateKind, l.options, maxEpochs)
	s := &state{round: round}
	s.schedule.read(l, r)
	if s.read(l, r); r.Err != nil {
		return nil, fmt.Errorf("sgd: state: %w", r.Err)
	}
	return s, nil
}

// partial is the partial result of a worker: its weights and counts.
type partial struct {
	state
	learn, heldOut loss.Tally

	// In the last round of momentum: Σ c ∂ℓ/∂W and Σ c ∂ℓ/∂b over the training rows, at the weights of the
	// state.
	slope     []float32
	biasSlope []float64
}

func (f *partial) encode(l *learner) []byte {
	t := append(loss.Tensors(f.learn, f.heldOut), f.tensors(l)...)
	if f.slope != nil {
		t = append(t, safetensors.Of("slope", f.slope, l.Outputs, l.Dim),
			safetensors.Of("bias_slope", f.biasSlope, l.Outputs))
	}
	return loss.EncodeRecord(partialKind, nil, t...)
}

// decodePartial decodes a partial result; with the gradient if last is set.
func decodePartial(l *learner, data []byte, last bool) (*partial, error) {
	r := loss.OpenRecord(data, partialKind)
	f := &partial{}
	f.read(l, r)
	f.learn, f.heldOut = r.Tallies()
	if last {
		f.slope = loss.Array[float32](r, "slope", l.Outputs, l.Dim)
		f.biasSlope = loss.Array[float64](r, "bias_slope", l.Outputs)
	}
	return f, r.Err
}

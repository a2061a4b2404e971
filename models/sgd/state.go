package sgd

import (
	"fmt"

	"github.com/bochner-ml/bochner/io/safetensors"
	"github.com/bochner-ml/bochner/models/loss"
)

// state is what an epoch begins with, and what a partition makes of it.
type state struct {
	round                     int
	weights, intercept        []float32 // k×d and k
	squares, interceptSquares []float32 // A, of adagrad only
}

const (
	stateKind = "sgd state 1"
	foundKind = "sgd found 1"
)

// arrays calls f with every array of the state and its shape.
func (s *state) arrays(l *Learner, f func(name string, v *[]float32, shape ...int)) {
	k, d := l.Outputs, l.Dim
	f("weights", &s.weights, k, d)
	f("intercept", &s.intercept, k)
	if l.Method == AdaGrad {
		f("squares", &s.squares, k, d)
		f("intercept_squares", &s.interceptSquares, k)
	}
}

func (s *state) tensors(l *Learner) (t []safetensors.Tensor) {
	s.arrays(l, func(name string, v *[]float32, shape ...int) { t = append(t, safetensors.Of(name, *v, shape...)) })
	return t
}

func (s *state) read(l *Learner, r *loss.Record) {
	s.arrays(l, func(name string, v *[]float32, shape ...int) { *v = loss.Array[float32](r, name, shape...) })
	for _, v := range [][]float32{s.squares, s.interceptSquares} {
		for _, x := range v {
			if x < 0 && r.Err == nil {
				r.Err = fmt.Errorf("sum of squares %g", x)
			}
		}
	}
}

func (s *state) encode(l *Learner) []byte {
	return loss.EncodeState(stateKind, l.Options, s.round, nil, s.tensors(l)...)
}

func decodeState(l *Learner, data []byte) (*state, error) {
	r, round := loss.OpenState(data, stateKind, l.Options, maxEpochs)
	s := &state{round: round}
	if s.read(l, r); r.Err != nil {
		return nil, fmt.Errorf("sgd: state: %w", r.Err)
	}
	return s, nil
}

// found is what a worker found: where it came to, and what it counted on the way.
type found struct {
	state
	learn, held loss.Tally
}

func (f *found) encode(l *Learner) []byte {
	return loss.EncodeRecord(foundKind, nil, append(loss.Tensors(f.learn, f.held), f.tensors(l)...)...)
}

func decodeFound(l *Learner, data []byte) (*found, error) {
	r := loss.OpenRecord(data, foundKind)
	f := &found{}
	f.read(l, r)
	f.learn, f.held = r.Tallies()
	return f, r.Err
}

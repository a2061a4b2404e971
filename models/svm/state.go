package svm

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bochner-ml/bochner/io/safetensors"
	"github.com/bochner-ml/bochner/models/loss"
)

// state is what a round begins with: w(a), for p problems of d features.
type state struct {
	round   int
	given   bool      // weights are an earlier model's: dual variables are to be found
	weights []float64 // p×d
	bias    []float64 // p: the weight of the constant feature
	scale   []float64 // p: by which the dual variables that were kept are to be multiplied
}

const stateKind = "svm state 1"

// identity is what options must have in common to go on from a state.
func (l *Learner) identity() string {
	b, err := json.Marshal(l.Options)
	if err != nil {
		panic("svm: options without JSON")
	}
	return string(b)
}

func (s *state) encode(l *Learner) []byte {
	p := l.problems()
	return loss.EncodeRecord(stateKind, map[string]string{
		"options": l.identity(), "round": strconv.Itoa(s.round), "given": strconv.FormatBool(s.given),
	},
		safetensors.Of("weights", s.weights, p, l.Dim),
		safetensors.Of("bias", s.bias, p),
		safetensors.Of("scale", s.scale, p))
}

func decodeState(l *Learner, data []byte) (*state, error) {
	r := loss.OpenRecord(data, stateKind)
	if r.Err != nil {
		return nil, fmt.Errorf("svm: state: %w", r.Err)
	}
	if have, want := r.Meta["options"], l.identity(); have != want {
		return nil, fmt.Errorf("svm: state: was made with other options: %.400s, want %s", have, want)
	}
	s := &state{given: r.Meta["given"] == "true"}
	var err error
	if s.round, err = strconv.Atoi(r.Meta["round"]); err != nil || s.round < 0 || s.round >= maxRounds || s.given && s.round != 0 {
		return nil, fmt.Errorf("svm: state: round %.20q", r.Meta["round"])
	}
	p := l.problems()
	s.weights = loss.Array[float64](r, "weights", p, l.Dim)
	s.bias = loss.Array[float64](r, "bias", p)
	s.scale = loss.Array[float64](r, "scale", p)
	if r.Err != nil {
		return nil, fmt.Errorf("svm: state: %w", r.Err)
	}
	for _, t := range s.scale {
		if !(t >= 0 && t <= 1) {
			return nil, fmt.Errorf("svm: state: scale %g, want 0 to 1", t)
		}
	}
	return s, nil
}

// found is what a worker found.
type found struct {
	delta       []float64 // p×d: Σ c_i Δa_i φ_i
	bias        []float64 // p: Σ c_i Δa_i, times the constant feature
	gap         []float64 // p: Σ c_i (ℓ + ℓ* + a·s)
	dual        []float64 // p: −Σ c_i ℓ*(−a_i), of dual variables found for given weights
	learn, held loss.Tally
}

const foundKind = "svm found 1"

func newFound(l *Learner) *found {
	p := l.problems()
	return &found{delta: make([]float64, p*l.Dim), bias: make([]float64, p), gap: make([]float64, p), dual: make([]float64, p)}
}

func (f *found) encode(l *Learner) []byte {
	p := l.problems()
	return loss.EncodeRecord(foundKind, nil, append(loss.Tensors(f.learn, f.held),
		safetensors.Of("delta", f.delta, p, l.Dim),
		safetensors.Of("bias", f.bias, p),
		safetensors.Of("gap", f.gap, p),
		safetensors.Of("dual", f.dual, p))...)
}

func decodeFound(l *Learner, data []byte) (*found, error) {
	r := loss.OpenRecord(data, foundKind)
	p := l.problems()
	v := &found{
		delta: loss.Array[float64](r, "delta", p, l.Dim),
		bias:  loss.Array[float64](r, "bias", p),
		gap:   loss.Array[float64](r, "gap", p),
		dual:  loss.Array[float64](r, "dual", p),
	}
	v.learn, v.held = r.Tallies()
	return v, r.Err
}

// Dual variables are kept by their partition: float32, one for each row and
// problem, in the order of the rows.
const ownKind = "svm dual variables 1"

func encodeOwn(p int, a []float32) []byte {
	if len(a) == 0 {
		return nil
	}
	return loss.EncodeRecord(ownKind, nil, safetensors.Of("a", a, len(a)/p, p))
}

func decodeOwn(p int, data []byte) ([]float32, error) {
	if data == nil {
		return nil, nil
	}
	r := loss.OpenRecord(data, ownKind)
	a := loss.Array[float32](r, "a", -1, p)
	return a, r.Err
}

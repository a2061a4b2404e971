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
	return safetensors.Encode(map[string]string{
		"kind": stateKind, "options": l.identity(),
		"round": strconv.Itoa(s.round), "given": strconv.FormatBool(s.given),
	},
		safetensors.Of("weights", s.weights, p, l.Dim),
		safetensors.Of("bias", s.bias, p),
		safetensors.Of("scale", s.scale, p))
}

func decodeState(l *Learner, data []byte) (*state, error) {
	f, err := open(data, stateKind)
	if err != nil {
		return nil, fmt.Errorf("svm: state: %w", err)
	}
	if have, want := f.Meta["options"], l.identity(); have != want {
		return nil, fmt.Errorf("svm: state: was made with other options: %.400s, want %s", have, want)
	}
	s := &state{given: f.Meta["given"] == "true"}
	if s.round, err = strconv.Atoi(f.Meta["round"]); err != nil || s.round < 0 || s.round >= maxRounds || s.given && s.round != 0 {
		return nil, fmt.Errorf("svm: state: round %.20q", f.Meta["round"])
	}
	p := l.problems()
	r := reader{f: f}
	s.weights = values[float64](&r, "weights", p, l.Dim)
	s.bias = values[float64](&r, "bias", p)
	s.scale = values[float64](&r, "scale", p)
	if r.err != nil {
		return nil, fmt.Errorf("svm: state: %w", r.err)
	}
	for _, t := range s.scale {
		if !(t >= 0 && t <= 1) {
			return nil, fmt.Errorf("svm: state: scale %g, want 0 to 1", t)
		}
	}
	return s, nil
}

// open opens a file of that kind.
func open(data []byte, kind string) (*safetensors.File, error) {
	f, err := safetensors.Decode(data)
	if err == nil && f.Meta["kind"] != kind {
		err = fmt.Errorf("%.40q, want %q", f.Meta["kind"], kind)
	}
	return f, err
}

// reader keeps the first error.
type reader struct {
	f   *safetensors.File
	err error
}

func values[T safetensors.Value](r *reader, name string, shape ...int) []T {
	if r.err != nil {
		return nil
	}
	v, err := safetensors.Shaped[T](r.f, name, shape...)
	r.err = err
	return v
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
	return safetensors.Encode(map[string]string{"kind": foundKind},
		safetensors.Of("delta", f.delta, p, l.Dim),
		safetensors.Of("bias", f.bias, p),
		safetensors.Of("gap", f.gap, p),
		safetensors.Of("dual", f.dual, p),
		safetensors.Of("loss", []float64{f.learn.Loss, f.held.Loss}, 2),
		safetensors.Of("rows", []int64{f.learn.Rows, f.learn.Errors, f.held.Rows, f.held.Errors}, 4))
}

func decodeFound(l *Learner, data []byte) (*found, error) {
	f, err := open(data, foundKind)
	if err != nil {
		return nil, err
	}
	p := l.problems()
	r := reader{f: f}
	v := &found{
		delta: values[float64](&r, "delta", p, l.Dim),
		bias:  values[float64](&r, "bias", p),
		gap:   values[float64](&r, "gap", p),
		dual:  values[float64](&r, "dual", p),
	}
	sums, counts := values[float64](&r, "loss", 2), values[int64](&r, "rows", 4)
	if r.err != nil {
		return nil, r.err
	}
	v.learn = loss.Tally{Rows: counts[0], Errors: counts[1], Loss: sums[0]}
	v.held = loss.Tally{Rows: counts[2], Errors: counts[3], Loss: sums[1]}
	for _, t := range []loss.Tally{v.learn, v.held} {
		if t.Errors < 0 || t.Errors > t.Rows {
			return nil, fmt.Errorf("%d errors of %d rows", t.Errors, t.Rows)
		}
	}
	return v, nil
}

// Dual variables are kept by their partition: float32, one for each row and
// problem, in the order of the rows.
const ownKind = "svm dual variables 1"

func encodeOwn(p int, a []float32) []byte {
	if len(a) == 0 {
		return nil
	}
	return safetensors.Encode(map[string]string{"kind": ownKind}, safetensors.Of("a", a, len(a)/p, p))
}

func decodeOwn(p int, data []byte) ([]float32, error) {
	if data == nil {
		return nil, nil
	}
	f, err := open(data, ownKind)
	if err != nil {
		return nil, err
	}
	return safetensors.Shaped[float32](f, "a", -1, p)
}

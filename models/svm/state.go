package svm

import (
	"fmt"
	"strconv"

	"github.com/bochner-ml/bochner/models/loss"
)

// state is what a round starts from: w(a), for p problems of d features.
type state struct {
	round   int
	given   bool      // the weights are from an earlier model, so dual variables must be found
	weights []float64 // p×d
	bias    []float64 // p: the weight of the constant feature

	// Weights (p×d) and intercepts (p) of an earlier model, which stay published for one more round; nil if
	// w(a) is published.
	earlier          []float32
	earlierIntercept []float32

	scale    []float64 // p: share of the previous round's step that was taken, 0 to 1
	last     []float64 // p×d: change of the weights in that round
	lastBias []float64 // p
	smooth   []int64   // p: number of rounds in which weights have kept their direction
}

func newState(p, d int) *state {
	s := &state{
		weights: make([]float64, p*d), bias: make([]float64, p), scale: make([]float64, p),
		last: make([]float64, p*d), lastBias: make([]float64, p), smooth: make([]int64, p),
	}
	for c := range s.scale {
		s.scale[c] = 1
	}
	return s
}

const stateKind = "svm state 2"

// code reads or writes the arrays.
func (s *state) code(l *learner, r *loss.Record) {
	p, d := l.problems(), l.Dim
	loss.Array(r, "weights", &s.weights, p, d)
	loss.Array(r, "bias", &s.bias, p)
	loss.Array(r, "scale", &s.scale, p)
	loss.Array(r, "last", &s.last, p, d)
	loss.Array(r, "last_bias", &s.lastBias, p)
	loss.Array(r, "smooth", &s.smooth, p)
	if r.Meta["earlier"] == "true" {
		loss.Array(r, "earlier", &s.earlier, p, d)
		loss.Array(r, "earlier_intercept", &s.earlierIntercept, p)
	}
}

func (s *state) encode(l *learner) []byte {
	r := loss.NewState(stateKind, l.options, s.round)
	r.Meta["given"] = strconv.FormatBool(s.given)
	if s.earlier != nil {
		r.Meta["earlier"] = "true"
	}
	s.code(l, r)
	return r.Encode()
}

func decodeState(l *learner, data []byte) (*state, error) {
	r, round := loss.OpenState(data, stateKind, l.options, maxRounds)
	s := &state{round: round, given: r.Meta["given"] == "true"}
	if r.Err == nil && s.given && round != 0 {
		r.Err = fmt.Errorf("an earlier model in round %d", round)
	}
	s.code(l, r)
	if r.Err != nil {
		return nil, fmt.Errorf("svm: state: %w", r.Err)
	}
	for _, t := range s.scale {
		if !(t >= 0 && t <= 1) {
			return nil, fmt.Errorf("svm: state: scale %g, want 0 to 1", t)
		}
	}
	for _, n := range s.smooth {
		if n < 0 || n > int64(s.round) {
			return nil, fmt.Errorf("svm: state: %d rounds in one direction, of %d", n, s.round)
		}
	}
	return s, nil
}

// partial is the partial result of a worker.
type partial struct {
	delta          []float64 // p×d: Σ c_i Δa_i φ_i
	bias           []float64 // p: Σ c_i Δa_i times the constant feature
	gap            []float64 // p: Σ c_i (ℓ + ℓ* + a·s)
	gain           []float64 // p: increase of −Σ c_i ℓ*(−a_i)
	learn, heldOut loss.Tally
}

const partialKind = "svm found 2"

func newPartial(l *learner) *partial {
	p := l.problems()
	return &partial{delta: make([]float64, p*l.Dim), bias: make([]float64, p), gap: make([]float64, p),
		gain: make([]float64, p)}
}

func (f *partial) code(l *learner, r *loss.Record) {
	p := l.problems()
	r.Tallies(&f.learn, &f.heldOut)
	loss.Array(r, "delta", &f.delta, p, l.Dim)
	loss.Array(r, "bias", &f.bias, p)
	loss.Array(r, "gap", &f.gap, p)
	loss.Array(r, "gain", &f.gain, p)
}

func (f *partial) encode(l *learner) []byte {
	r := loss.NewRecord(partialKind)
	f.code(l, r)
	return r.Encode()
}

func decodePartial(l *learner, data []byte) (*partial, error) {
	r, f := loss.OpenRecord(data, partialKind), new(partial)
	f.code(l, r)
	return f, r.Err
}

// dualVariables are the dual variables of a partition after a round, p for each row in the order of the
// rows, with their previous values where these differ. The share of the step to take is decided after all
// partitions, and stored in the next state.
type dualVariables struct {
	a      []float32
	at     []int64   // indices, ascending, at which a has changed
	was    []float64 // previous values there
	passed int       // how many of at mix has passed
}

// set stores dual variables from index at on, and their previous values.
func (v *dualVariables) set(at int, was []float64, now []float32) {
	for c, a := range now {
		v.a[at+c] = a
		if float64(a) != was[c] {
			v.at, v.was = append(v.at, int64(at+c)), append(v.was, was[c])
		}
	}
}

// mix stores was + t·(a − was) in dst, from an index on, where the p factors t between 0 and 1 alternate,
// and its difference from was in lead. Each call continues where the last one ended. The result is between
// was and a, because floating-point arithmetic is monotone.
func (v *dualVariables) mix(dst, lead []float64, from int, t []float64) {
	for i := range dst {
		at := from + i
		dst[i], lead[i] = float64(v.a[at]), 0
		if v.passed == len(v.at) || v.at[v.passed] != int64(at) {
			continue
		}
		was := v.was[v.passed]
		v.passed++
		if t := t[at%len(t)]; t < 1 {
			dst[i] = was + float64(t*(dst[i]-was))
		}
		lead[i] = dst[i] - was
	}
}

const dualKind = "svm dual variables 2"

func (v *dualVariables) code(p int, r *loss.Record) {
	loss.Array(r, "a", &v.a, -1, p)
	loss.Array(r, "at", &v.at, -1)
	loss.Array(r, "was", &v.was, len(v.at))
}

func (v *dualVariables) encode(p int) []byte {
	if len(v.a) == 0 {
		return nil
	}
	r := loss.NewRecord(dualKind)
	v.code(p, r)
	return r.Encode()
}

func decodeDual(p int, data []byte) (v dualVariables, err error) {
	if data == nil {
		return v, nil
	}
	r := loss.OpenRecord(data, dualKind)
	v.code(p, r)
	if r.Err != nil {
		return v, r.Err
	}
	last := int64(-1)
	for _, at := range v.at {
		if at <= last || at >= int64(len(v.a)) {
			return v, fmt.Errorf("index %d after %d, of %d", at, last, len(v.a))
		}
		last = at
	}
	return v, nil
}

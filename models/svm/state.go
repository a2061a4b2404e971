package svm

import (
	"fmt"
	"strconv"

	"github.com/bochner-ml/bochner/io/safetensors"
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

func (s *state) encode(l *learner) []byte {
	p := l.problems()
	meta := map[string]string{"given": strconv.FormatBool(s.given)}
	tensors := []safetensors.Tensor{
		safetensors.Of("weights", s.weights, p, l.Dim),
		safetensors.Of("bias", s.bias, p),
		safetensors.Of("scale", s.scale, p),
		safetensors.Of("last", s.last, p, l.Dim),
		safetensors.Of("last_bias", s.lastBias, p),
		safetensors.Of("smooth", s.smooth, p),
	}
	if s.earlier != nil {
		meta["earlier"] = "true"
		tensors = append(tensors, safetensors.Of("earlier", s.earlier, p, l.Dim),
			safetensors.Of("earlier_intercept", s.earlierIntercept, p))
	}
	return loss.EncodeState(stateKind, l.options, s.round, meta, tensors...)
}

func decodeState(l *learner, data []byte) (*state, error) {
	r, round := loss.OpenState(data, stateKind, l.options, maxRounds)
	s := &state{round: round, given: r.Meta["given"] == "true"}
	if r.Err == nil && s.given && round != 0 {
		r.Err = fmt.Errorf("an earlier model in round %d", round)
	}
	p := l.problems()
	s.weights = loss.Array[float64](r, "weights", p, l.Dim)
	s.bias = loss.Array[float64](r, "bias", p)
	s.scale = loss.Array[float64](r, "scale", p)
	s.last = loss.Array[float64](r, "last", p, l.Dim)
	s.lastBias = loss.Array[float64](r, "last_bias", p)
	s.smooth = loss.Array[int64](r, "smooth", p)
	if r.Meta["earlier"] == "true" {
		s.earlier = loss.Array[float32](r, "earlier", p, l.Dim)
		s.earlierIntercept = loss.Array[float32](r, "earlier_intercept", p)
	}
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

func (f *partial) encode(l *learner) []byte {
	p := l.problems()
	return loss.EncodeRecord(partialKind, nil, append(loss.TallyTensors(f.learn, f.heldOut),
		safetensors.Of("delta", f.delta, p, l.Dim),
		safetensors.Of("bias", f.bias, p),
		safetensors.Of("gap", f.gap, p),
		safetensors.Of("gain", f.gain, p))...)
}

func decodePartial(l *learner, data []byte) (*partial, error) {
	r := loss.OpenRecord(data, partialKind)
	p := l.problems()
	v := &partial{
		delta: loss.Array[float64](r, "delta", p, l.Dim),
		bias:  loss.Array[float64](r, "bias", p),
		gap:   loss.Array[float64](r, "gap", p),
		gain:  loss.Array[float64](r, "gain", p),
	}
	v.learn, v.heldOut = r.Tallies()
	return v, r.Err
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

func (v *dualVariables) encode(p int) []byte {
	if len(v.a) == 0 {
		return nil
	}
	return loss.EncodeRecord(dualKind, nil,
		safetensors.Of("a", v.a, len(v.a)/p, p),
		safetensors.Of("at", v.at, len(v.at)),
		safetensors.Of("was", v.was, len(v.was)))
}

func decodeDual(p int, data []byte) (v dualVariables, err error) {
	if data == nil {
		return v, nil
	}
	r := loss.OpenRecord(data, dualKind)
	v.a = loss.Array[float32](r, "a", -1, p)
	v.at = loss.Array[int64](r, "at", -1)
	v.was = loss.Array[float64](r, "was", len(v.at))
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

package svm

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/models/rounds"
)

// Certificate is what a Verifier found about a state, from scratch and in
// float64.
type Certificate struct {
	Rows   int64   `json:"rows"`
	Primal float64 `json:"primal"` // P at the published weights
	Dual   float64 `json:"dual"`   // D of the dual variables
	Gap    float64 `json:"gap"`    // Primal − Dual: how far at most the published weights are from the best
	// Drift is the largest difference of a weight of the state and the same weight
	// computed again from the dual variables, relative to the largest weight.
	Drift float64 `json:"drift"`
}

// Verifier computes a Certificate from a state, the dual variables that
// partitions kept when it was made, and the rows, sharing no step with the
// learner but the losses. It is used by one goroutine; verifiers of parts of the
// partitions are merged.
type Verifier struct {
	round   *round
	a       []float64 // of the partition at hand
	at      int
	weights []float64 // p×(d+1): Σ c_i a_i φ_i, the constant feature last
	loss    float64   // Σ c_i ℓ
	dual    float64   // −Σ c_i ℓ*
	rows    int64
}

// Verify begins to verify a state, which must be that after some round: before
// the first there is nothing to verify.
func (l *Learner) Verify(state []byte) (*Verifier, error) {
	s, err := decodeState(l, state)
	if err != nil {
		return nil, err
	}
	if s.given {
		return nil, fmt.Errorf("svm: verify: the state is an earlier model, without dual variables; do a round first")
	}
	return &Verifier{round: newRound(l, s), weights: make([]float64, l.problems()*(l.Dim+1))}, nil
}

// Partition begins a partition, with what its worker kept. The error is about
// damaged bytes, or about the partition before, if rows of it are missing.
func (v *Verifier) Partition(own []byte) error {
	if err := v.ended(); err != nil {
		return err
	}
	k, err := decodeDual(v.round.problems(), own)
	if err != nil {
		return fmt.Errorf("svm: verify: %w", err)
	}
	v.a, v.at = make([]float64, len(k.a)), 0
	k.mix(v.a, make([]float64, len(v.a)), 0, v.round.scale)
	return nil
}

func (v *Verifier) ended() error {
	if v.at < len(v.a) {
		return fmt.Errorf("svm: verify: dual variables of %d rows more than there are", (len(v.a)-v.at)/v.round.problems())
	}
	return nil
}

// Fold takes the next block of rows of the partition, as its Worker does.
func (v *Verifier) Fold(b rounds.Block) error {
	r := v.round
	p, d := r.problems(), r.Dim
	if b.Held {
		return nil
	}
	if err := r.CheckLabels(b.Y); err != nil {
		return fmt.Errorf("svm: verify: %w", err)
	}
	if r.round > 0 && v.at+b.N*p > len(v.a) {
		return fmt.Errorf("svm: verify: rows without dual variables")
	}
	for i, y := range b.Y {
		phi, weight := b.Phi[i*d:(i+1)*d], r.Weight(y)
		for c := range p {
			code := r.loss.Code(y, c)
			s := float64(r.intercept[c])
			for j, x := range phi {
				s += float64(float64(x) * float64(r.published[c*d+j]))
			}
			v.loss += float64(weight * r.loss.Scalar.Value(code, s))
			a := 0.0
			if r.round > 0 {
				a = v.a[v.at]
				v.at++
			}
			v.dual -= float64(weight * r.loss.Scalar.Conjugate(code, -a))
			to := v.weights[c*(d+1) : (c+1)*(d+1)]
			for j, x := range phi {
				to[j] += float64(float64(weight*a) * float64(x))
			}
			to[d] += float64(float64(weight*a) * r.Bias)
		}
	}
	v.rows += int64(b.N)
	return nil
}

// Merge adds what u found in other partitions of the same state.
func (v *Verifier) Merge(u *Verifier) error {
	if err := u.ended(); err != nil {
		return err
	}
	for i, x := range u.weights {
		v.weights[i] += x
	}
	v.loss += u.loss
	v.dual += u.dual
	v.rows += u.rows
	return nil
}

// Certificate returns what was found, when all partitions are through.
func (v *Verifier) Certificate() (Certificate, error) {
	r := v.round
	if err := v.ended(); err != nil {
		return Certificate{}, err
	}
	if v.rows != r.Rows {
		return Certificate{}, fmt.Errorf("svm: verify: %d rows, the options say %d", v.rows, r.Rows)
	}
	d := r.Dim
	n, unit := float64(r.Rows), 1/(r.Lambda*float64(r.Rows))
	var published, dual, largest, off float64
	for c := range r.problems() {
		for j := range d + 1 {
			again := float64(unit * v.weights[c*(d+1)+j])
			kept, out := r.bias[c], 0.0
			if j < d {
				kept, out = r.weights[c*d+j], float64(r.published[c*d+j])
			} else if r.Bias > 0 {
				out = float64(r.intercept[c]) / r.Bias
			}
			published += float64(out * out)
			dual += float64(again * again)
			largest, off = max(largest, math.Abs(again)), max(off, math.Abs(again-kept))
		}
	}
	copies := r.copies()
	t := Certificate{
		Rows:   v.rows,
		Primal: float64(copies * (v.loss/n + float64(r.Lambda/2*published))),
		Dual:   float64(copies * (v.dual/n - float64(r.Lambda/2*dual))),
	}
	t.Gap = t.Primal - t.Dual
	if off > 0 {
		t.Drift = off / largest
	}
	return t, nil
}

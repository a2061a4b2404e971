package svm

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/loss"
)

// Certificate is the result of a verifier for weights and a state, recomputed in float64.
type Certificate struct {
	Rows   int64   `json:"rows"`
	Primal float64 `json:"primal"` // P at the weights
	Dual   float64 `json:"dual"`   // D of the dual variables
	Gap    float64 `json:"gap"`    // Primal − Dual bounds how far the weights are from the optimum
	// Drift is the largest difference between a weight of the state and the same weight recomputed from the
	// dual variables, relative to the largest weight.
	Drift float64 `json:"drift"`
	// Same reports whether the weights are the state's, bit for bit.
	Same bool `json:"same"`
}

// verifier computes a Certificate from weights, a state, the dual variables that partitions carried when
// the state was made, and the rows. It shares only the losses with the learner. It is the iterative.Worker of
// a partition; one more merges the results in the order of the partitions. It is not safe for concurrent use.
type verifier struct {
	round   *round
	model   *linear.Model
	subject string    // hash of what is verified
	a       []float64 // of the current partition
	at      int
	weights []float64 // p×(d+1): Σ c_i a_i φ_i, the constant feature last
	loss    float64   // Σ c_i ℓ
	dual    float64   // −Σ c_i ℓ*
	rows    int64
}

// verify begins to verify weights, as read from a model, against a state, which must come from some round:
// the first state has no dual variables. Nil weights mean the state's. The objective is computed from the
// weights, not taken from the state.
func (l *learner) verify(state []byte, m *linear.Model) (*verifier, error) {
	s, err := decodeState(l, state)
	if err != nil {
		return nil, err
	}
	if s.given {
		return nil, errors.New("svm: verify: the state is an earlier model, without dual variables; run a round first")
	}
	r := newRound(l, s)
	if m == nil {
		m = r.Model()
	}
	if m.K != l.Outputs || m.D != l.Dim || len(m.W) != m.K*m.D || len(m.B) != m.K {
		return nil, fmt.Errorf("svm: verify: weights of %d outputs on %d features, want %d on %d", m.K, m.D, l.Outputs, l.Dim)
	}
	if l.Bias == 0 && slices.ContainsFunc(m.B, func(b float32) bool { return b != 0 }) {
		return nil, errors.New("svm: verify: weights have intercepts, but bias is 0")
	}
	if !exact.AllFinite(m.W) || !exact.AllFinite(m.B) {
		return nil, errors.New("svm: verify: weights are not finite")
	}
	h := sha256.New()
	h.Write(state)
	binary.Write(h, binary.LittleEndian, m.W) // a Hash never returns an error
	binary.Write(h, binary.LittleEndian, m.B)
	return &verifier{round: r, model: m, subject: hex.EncodeToString(h.Sum(nil)),
		weights: make([]float64, l.problems()*(l.Dim+1))}, nil
}

// partition begins a partition, given its worker's carried state.
func (v *verifier) partition(carried []byte) error {
	k, err := decodeDual(v.round.problems(), carried)
	if err != nil {
		return fmt.Errorf("svm: verify: %w", err)
	}
	v.a, v.at = make([]float64, len(k.a)), 0
	k.mix(v.a, make([]float64, len(v.a)), 0, v.round.scale)
	return nil
}

// Take takes the next block of rows of the partition, as a Worker does.
func (v *verifier) Take(b iterative.Block) error {
	r := v.round
	p, d := r.problems(), r.Dim
	if b.HeldOut {
		return nil
	}
	if err := r.CheckLabels(b.Y); err != nil {
		return fmt.Errorf("svm: verify: %w", err)
	}
	if r.round > 0 && v.at+b.N*p > len(v.a) {
		return errors.New("svm: verify: there are rows without dual variables")
	}
	m := v.model
	for i, y := range b.Y {
		phi, weight := b.Phi[i*d:(i+1)*d], float64(b.Weight(i)*r.Weight(y))
		for c := range m.K {
			s := float64(m.B[c])
			for j, x := range phi {
				s += float64(float64(x) * float64(m.W[c*d+j]))
			}
			v.loss += float64(weight * r.loss.Scalar.Value(r.loss.Code(y, c), s))
		}
		for c := range p {
			a := 0.0
			if r.round > 0 {
				a = v.a[v.at]
				v.at++
			}
			conjugate := r.loss.Scalar.Conjugate(r.loss.Code(y, c), -a)
			if math.IsInf(conjugate, 0) {
				return fmt.Errorf("svm: verify: row %d of the block: dual variable %g does not fit its label %g", i, a, y)
			}
			v.dual -= float64(weight * conjugate)
			if a == 0 {
				continue
			}
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

const verifiedKind = "svm verified 1"

// code reads or writes the result for some partitions.
func (v *verifier) code(r *loss.Record, rows *[]int64, sums, weights *[]float64) {
	loss.Array(r, "weights", weights, v.round.problems(), v.round.Dim+1)
	loss.Array(r, "sums", sums, 2)
	loss.Array(r, "rows", rows, 1)
}

// End encodes the result for the partition. The error is about missing rows.
func (v *verifier) End() (partial, carried []byte, err error) {
	if left := len(v.a) - v.at; left > 0 {
		return nil, nil, fmt.Errorf("svm: verify: there are dual variables for %d missing rows", left/v.round.problems())
	}
	r := loss.NewRecord(verifiedKind)
	r.Meta["of"] = v.subject
	v.code(r, &[]int64{v.rows}, &[]float64{v.loss, v.dual}, &v.weights)
	return r.Encode(), nil, nil
}

// merge adds the result that End encoded for another partition, which must be for the same weights and state.
func (v *verifier) merge(data []byte) error {
	r := loss.OpenRecord(data, verifiedKind)
	if r.Err == nil && r.Meta["of"] != v.subject {
		return errors.New("svm: verify: a part has different weights or another state")
	}
	var rows []int64
	var sums, weights []float64
	v.code(r, &rows, &sums, &weights)
	switch {
	case r.Err != nil:
		return fmt.Errorf("svm: verify: part: %w", r.Err)
	case rows[0] < 0 || rows[0] > v.round.Rows:
		return fmt.Errorf("svm: verify: part: %d rows of %d", rows[0], v.round.Rows)
	}
	for i, x := range weights {
		v.weights[i] += x
	}
	v.loss += sums[0]
	v.dual += sums[1]
	v.rows += rows[0]
	return nil
}

// certificate returns the result after all partitions.
func (v *verifier) certificate() (Certificate, error) {
	r := v.round
	if v.rows != r.Rows {
		return Certificate{}, fmt.Errorf("svm: verify: %d rows, the options say %d", v.rows, r.Rows)
	}
	d := r.Dim
	n, unit := float64(r.Rows), 1/(r.Lambda*float64(r.Rows))
	var squares, dual, largest, off float64
	for c := range r.problems() {
		for j := range d + 1 {
			again := float64(unit * v.weights[c*(d+1)+j])
			kept := r.bias[c]
			if j < d {
				kept = r.weights[c*d+j]
			}
			dual += float64(again * again)
			largest, off = max(largest, math.Abs(again), math.Abs(kept)), max(off, math.Abs(again-kept))
		}
	}
	for _, w := range v.model.W {
		squares += float64(float64(w) * float64(w))
	}
	if r.Bias > 0 {
		for _, b := range v.model.B {
			w := float64(b) / r.Bias
			squares += float64(w * w)
		}
	}
	model := r.Model()
	t := Certificate{
		Rows:   v.rows,
		Primal: v.loss/n + float64(r.Lambda/2*squares),
		Dual:   float64(r.copies() * (v.dual/n - float64(r.Lambda/2*dual))),
		Same:   equalBits(v.model.W, model.W) && equalBits(v.model.B, model.B),
	}
	t.Gap = t.Primal - t.Dual
	if off > 0 {
		t.Drift = off / largest
	}
	return t, nil
}

func equalBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// VerifyKind is the registered name of the learner.
const VerifyKind = "svm.verify"

func init() {
	iterative.RegisterOpener(VerifyKind, iterative.OpenerOf(func(o options) (iterative.Learner, error) {
		l, err := newLearner(o)
		return verification{l}, err
	}))
}

// verification is a learner with a single round. Its state holds the weights to verify and the last state
// of the training, the carried states of the partitions are their dual variables, and the final state is a
// Certificate in JSON.
type verification struct{ *learner }

// VerifyState returns the state for a verification: the last state of the training and the weights file of the model.
func VerifyState(state, weights []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(state)))
	return append(append(b, state...), weights...)
}

func (v verification) Open(data []byte) (iterative.Round, error) {
	if len(data) < 8 || binary.LittleEndian.Uint64(data) > uint64(len(data)-8) {
		return nil, errors.New("svm: damaged state")
	}
	n := binary.LittleEndian.Uint64(data)
	m, err := models.ReadWeights(data[8+n:], v.Outputs, v.Dim)
	if err != nil {
		return nil, err
	}
	r := verifyRound(func() (*verifier, error) { return v.verify(data[8:8+n], m) })
	_, err = r() // to detect damage early
	return r, err
}

// verifyRound begins the verification of a state and weights.
type verifyRound func() (*verifier, error)

func (r verifyRound) Reads() bool { return true }
func (r verifyRound) Done() bool  { return true }

func (r verifyRound) Worker(_ int, carried []byte) (iterative.Worker, error) {
	v, err := r()
	if err != nil {
		return nil, err
	}
	return v, v.partition(carried)
}

func (r verifyRound) Update(next func() ([]byte, error)) (state []byte, report iterative.Report, err error) {
	all, err := r()
	if err != nil {
		return nil, report, err
	}
	err = iterative.EachPartial(next, func(_ int, partial []byte) error { return all.merge(partial) })
	if err != nil {
		return nil, report, err
	}
	c, err := all.certificate()
	if err != nil {
		return nil, report, err
	}
	state, err = json.Marshal(c)
	return state, iterative.Report{Rows: c.Rows, Objective: c.Primal, Dual: &c.Dual}, err
}

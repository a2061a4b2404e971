package svm

import (
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
)

// VerifyKind is the registered name of the learner.
const VerifyKind = "svm.verify"

func init() { iterative.RegisterOpener(VerifyKind, iterative.OpenerOf(open)) }

// verification is a learner with a single round. Its state holds the weights to verify and the last state
// of the training, the carried states of the partitions are their dual variables, and the final state is a
// Certificate in JSON.
type verification struct{ *learner }

func open(o options) (iterative.Learner, error) {
	l, err := newLearner(o)
	return verification{l}, err
}

// VerifyState returns the state for a verification: the last state of the training and the weights file of
// the model.
func VerifyState(state, weights []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(state)))
	return append(append(b, state...), weights...)
}

func (v verification) Open(data []byte) (iterative.Round, error) {
	if len(data) < 8 || binary.LittleEndian.Uint64(data) > uint64(len(data)-8) {
		return nil, errors.New("verify: damaged state")
	}
	n := binary.LittleEndian.Uint64(data)
	m, err := models.ReadWeights(data[8+n:], v.Outputs, v.Dim)
	if err != nil {
		return nil, err
	}
	r := &verifyRound{learner: v.learner, state: data[8 : 8+n], model: m}
	_, err = r.begin() // to detect damage early
	return r, err
}

type verifyRound struct {
	learner *learner
	state   []byte
	model   *models.Linear
}

func (r *verifyRound) begin() (*verifier, error) { return r.learner.verify(r.state, r.model) }
func (r *verifyRound) Reads() bool               { return true }
func (r *verifyRound) Done() bool                { return true }

func (r *verifyRound) Worker(_ int, carried []byte) (iterative.Worker, error) {
	v, err := r.begin()
	if err != nil {
		return nil, err
	}
	return verifyWorker{v}, v.partition(carried)
}

type verifyWorker struct{ *verifier }

func (w verifyWorker) End() (found, carried []byte, err error) {
	found, err = w.MarshalBinary()
	return found, nil, err
}

func (r *verifyRound) Update(next func() ([]byte, error)) (state []byte, report iterative.Report, err error) {
	all, err := r.begin()
	if err != nil {
		return nil, report, err
	}
	err = iterative.EachPartial(next, func(_ int, found []byte) error {
		part, err := r.begin()
		if err == nil {
			err = part.UnmarshalBinary(found)
		}
		if err == nil {
			err = all.Merge(part)
		}
		return err
	})
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

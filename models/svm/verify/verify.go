// Package verify recomputes the certificate of a model that svm has trained, from the
// model and the rows: as an iterative learner of a single round, which shares only the
// losses with svm.
package verify

import (
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/rounds"
	"github.com/bochner-ml/bochner/models/svm"
)

// Kind is the name of the learner.
const Kind = "svm.verify"

func init() { rounds.Register(Kind, rounds.OpenerOf(open)) }

// A verification is a single round: its state holds the weights to verify and the
// learner's last state, the carried state of partitions is their dual variables, and the
// final state is the JSON of an svm.Certificate.
type verification struct{ *svm.Learner }

func open(o svm.Options) (rounds.Learner, error) {
	l, err := svm.New(o)
	return verification{l}, err
}

// State returns the state of a verification: the learner's last state and the
// weights file of a model.
func State(state, weights []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(state)))
	return append(append(b, state...), weights...)
}

func (v verification) Open(data []byte) (rounds.Round, error) {
	if len(data) < 8 || binary.LittleEndian.Uint64(data) > uint64(len(data)-8) {
		return nil, errors.New("verify: damaged state")
	}
	n := binary.LittleEndian.Uint64(data)
	m, err := models.ReadWeights(data[8+n:], v.Outputs, v.Dim)
	if err != nil {
		return nil, err
	}
	r := &round{learner: v.Learner, state: data[8 : 8+n], model: m}
	_, err = r.begin() // to detect damage early
	return r, err
}

type round struct {
	learner *svm.Learner
	state   []byte
	model   *models.Linear
}

func (r *round) begin() (*svm.Verifier, error) { return r.learner.Verify(r.state, r.model) }
func (r *round) Reads() bool                   { return true }
func (r *round) Done() bool                    { return true }

func (r *round) Worker(_ int, carried []byte) (rounds.Worker, error) {
	v, err := r.begin()
	if err != nil {
		return nil, err
	}
	return worker{v}, v.Partition(carried)
}

type worker struct{ *svm.Verifier }

func (w worker) End() (found, carried []byte, err error) {
	found, err = w.MarshalBinary()
	return found, nil, err
}

func (r *round) Update(next func() ([]byte, error)) (state []byte, report rounds.Report, err error) {
	all, err := r.begin()
	if err != nil {
		return nil, report, err
	}
	err = rounds.EachPartial(next, func(_ int, found []byte) error {
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
	c, err := all.Certificate()
	if err != nil {
		return nil, report, err
	}
	state, err = json.Marshal(c)
	return state, rounds.Report{Rows: c.Rows, Objective: c.Primal, Dual: &c.Dual}, err
}

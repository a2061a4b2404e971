package iterative

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/models/linear"
)

// Learner makes the state that the first round begins with, and opens states.
type Learner interface {
	// Start returns the first state, from the weights of an earlier model (k×D and
	// k intercepts), or from nothing if init is nil. The error says why init does
	// not fit.
	Start(init *linear.Model) ([]byte, error)
	// Open reads a state. The error is about a damaged one; its sizes are checked
	// before anything is allocated.
	Open(state []byte) (Round, error)
}

// Round is one round: a state that workers share. It is safe for concurrent use.
type Round interface {
	// Worker begins the work on one partition. own is the carried state of that
	// partition from the round before, nil if there is none.
	Worker(partition int, own []byte) (Worker, error)
	// Update makes the next state from the partial results of the workers. next
	// returns them one by one, in the order of the partitions, and then io.EOF.
	// The report is about the state that the round began with.
	Update(next func() ([]byte, error)) (state []byte, report Report, err error)
	// Reads tells whether this round's workers take rows. If it is false, Fold is not
	// called: a worker uses only the state and its partition's carried state.
	Reads() bool
	// Done tells that the learner has come to the end that its options set, beyond
	// what a caller may ask of the reports.
	Done() bool
}

// Fitted is a Round whose state is a linear model.
type Fitted interface {
	Round
	// Model returns the weights of the state, as float32, k×D with k intercepts.
	Model() *linear.Model
}

// Worker processes the rows of one partition. It is used by one goroutine, whose
// algebra takes one thread unless it is Threaded.
type Worker interface {
	// Fold takes the next block of rows. The block is the caller's again when Fold
	// has returned.
	Fold(b Block) error
	// End returns what Update needs, and what the partition's next worker needs
	// (nil if nothing).
	End() (found, own []byte, err error)
}

// Threaded is a Worker that can use several threads where there are fewer
// partitions than threads. Its result does not depend on them.
type Threaded interface {
	Worker
	// Threads sets how many; before the first Fold.
	Threads(n int)
}

// Block is a block of rows as features. Blocks of rows to learn from and of rows
// held out take turns; both come in an order that is the same in every round.
type Block struct {
	N, D int
	Phi  []float32 // row-major N×D: features
	// Y has length N: the index of the class, or a target, less the median and in units of
	// the spread of the data.
	Y []float32
	// Weights has length N: the weights of the rows in units of the mean weight of all rows to
	// learn from. It is empty if all rows have the same.
	Weights []float64
	// HeldOut says that the rows are held out: they are scored, and nothing is learned
	// from them.
	HeldOut bool
	// Index counts the blocks of the partition that are not held out, and those
	// that are, each from 0.
	Index int
}

// Weight returns the weight of row i in units of the mean, 1 where all rows have the same.
func (b Block) Weight(i int) float64 {
	if len(b.Weights) == 0 {
		return 1
	}
	return b.Weights[i]
}

// Check panics, as the package pkg, unless b has rows of dim features that are all there.
func (b Block) Check(pkg string, dim int) {
	if b.D != dim || b.N < 0 || len(b.Phi) < b.N*b.D || len(b.Y) != b.N || len(b.Weights) != b.N && len(b.Weights) != 0 {
		panic(pkg + ": block of another shape")
	}
}

// EachPartial calls f with the partial result of each partition's worker, in the order
// of the partitions, as next returns them.
func EachPartial(next func() ([]byte, error), f func(partition int, found []byte) error) error {
	for partition := 0; ; partition++ {
		found, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(partition, found); err != nil {
			return err
		}
	}
}

// CheckInit returns an error unless an earlier model has that many outputs and
// features, and its weights and intercepts are finite.
func CheckInit(init *linear.Model, outputs, dim int) error {
	if init.K != outputs || init.D != dim || len(init.W) != outputs*dim || len(init.B) != outputs {
		return fmt.Errorf("earlier model: %d outputs on %d features, want %d on %d", init.K, init.D, outputs, dim)
	}
	for _, v := range [][]float32{init.W, init.B} {
		for _, x := range v {
			if x-x != 0 {
				return errors.New("earlier model: weights are not finite")
			}
		}
	}
	return nil
}

// Report describes the state at the start of a round. Losses
// are means over rows; sums over rows in it are added in float64, rows in order,
// partitions in order, so they are the same wherever the round ran.
type Report struct {
	Round int   `json:"round"` // of the state: 0 is the first
	Rows  int64 `json:"rows"`  // learned from

	// Objective is the mean loss of the rows learned from plus λ/2‖W‖².
	Objective float64 `json:"objective"`
	Loss      float64 `json:"loss"`   // the mean loss alone
	Errors    int64   `json:"errors"` // rows learned from that are classified wrongly

	// Dual is a lower bound of the best Objective, where the learner has one.
	Dual *float64 `json:"dual,omitempty"`

	// Above is how far at most Objective is above the least, where the learner tells it by
	// the gradient and has no Dual.
	Above *float64 `json:"above,omitempty"`

	// Residual is the relative residual of the equations that the weights solve, computed anew
	// from the rows, for learners that solve some.
	Residual *float64 `json:"residual,omitempty"`

	HeldOut

	// Words says how far the learner is where losses do not; "" where they do.
	Words string `json:"words,omitempty"`
	// Ended says why the learner ends the rounds with this state; "" if it does not.
	Ended string `json:"ended,omitempty"`
	// Detail holds further values of a type specific to the learner.
	Detail json.RawMessage `json:"detail,omitempty"`
}

// HeldOut is the score of a state on rows that are held out.
type HeldOut struct {
	HeldOutRows   int64   `json:"held_rows"`
	HeldOutLoss   float64 `json:"held_loss"`            // their mean loss
	HeldOutErrors int64   `json:"held_errors"`          // how many of them are classified wrongly
	HeldOutError  float64 `json:"held_error,omitempty"` // their share by weight, where rows have weights
}

// Gap returns Objective − Dual, how far at most the state is from the best, and
// whether it is known.
func (r Report) Gap() (float64, bool) {
	if r.Dual == nil {
		return 0, false
	}
	return r.Objective - *r.Dual, true
}

package iterative

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/models/linear"
)

// Learner makes the first state, and opens states.
type Learner interface {
	// Start returns the first state, from the weights of an earlier model (k×D, with k intercepts), or from
	// nothing if init is nil. The error says why init does not fit.
	Start(init *linear.Model) ([]byte, error)
	// Open decodes a state. It returns an error for a damaged one, whose sizes it checks before it
	// allocates.
	Open(state []byte) (Round, error)
}

// Round is one round: a state that workers share. It is safe for concurrent use.
type Round interface {
	// Worker begins the work on one partition. own is what the partition's worker of the round before left
	// for it; nil if nothing.
	Worker(partition int, own []byte) (Worker, error)
	// Update makes the next state from the partial results of the workers. next returns these in the order
	// of the partitions, and then io.EOF. The report is about the state that the round began with.
	Update(next func() ([]byte, error)) (state []byte, report Report, err error)
	// Reads reports whether workers of this round take rows. Otherwise Fold is not called: a worker uses
	// only the state and what its partition has carried over.
	Reads() bool
	// Done reports whether the learner ends by its own options. A caller may stop earlier, by the reports.
	Done() bool
}

// Fitted is a Round whose state is a linear model.
type Fitted interface {
	Round
	// Model returns the weights of the state, as float32, k×D with k intercepts.
	Model() *linear.Model
}

// Worker processes the rows of one partition. It is used by one goroutine, and works on one thread unless
// it is Threaded.
type Worker interface {
	// Fold takes the next block of rows. It must not keep the block.
	Fold(b Block) error
	// End returns the partial result for Update, and the carried state for the partition's next worker (nil
	// if none).
	End() (found, own []byte, err error)
}

// Threaded is a Worker that can use several threads, if there are fewer partitions than threads. Its result
// does not depend on their number.
type Threaded interface {
	Worker
	// Threads sets the number of threads, before the first Fold.
	Threads(n int)
}

// Block is a block of rows as features. Blocks of training rows and of held-out rows may alternate. Both
// come in the same order in every round.
type Block struct {
	N, D int
	Phi  []float32 // row-major N×D: features
	// Y has length N: the index of the class, or a target minus the median, in units of the spread of the
	// targets.
	Y []float32
	// Weights has length N: the weights of the rows, in units of the mean weight of all training rows. It
	// is empty if all weights are equal.
	Weights []float64
	// HeldOut says that the rows are only scored, not learned from.
	HeldOut bool
	// Index numbers the blocks of the partition from 0, separately for training rows and held-out rows.
	Index int
}

// Weight returns the weight of row i in units of the mean; 1 if all weights are equal.
func (b Block) Weight(i int) float64 {
	if len(b.Weights) == 0 {
		return 1
	}
	return b.Weights[i]
}

// Check panics, with pkg as prefix, unless the lengths of b fit rows of dim features.
func (b Block) Check(pkg string, dim int) {
	if b.D != dim || b.N < 0 || len(b.Phi) < b.N*b.D || len(b.Y) != b.N || len(b.Weights) != b.N && len(b.Weights) != 0 {
		panic(pkg + ": block of another shape")
	}
}

// EachPartial calls f with the partial results that next returns, in the order of the partitions.
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

// Report describes the state at the start of a round. Losses are means over rows. Sums over rows are added
// in float64, rows in order and partitions in order, so they are the same wherever the round ran.
type Report struct {
	Round int   `json:"round"` // number of the state, from 0
	Rows  int64 `json:"rows"`  // number of training rows

	// Objective is the mean loss of the training rows plus λ/2‖W‖².
	Objective float64 `json:"objective"`
	Loss      float64 `json:"loss"`   // the mean loss
	Errors    int64   `json:"errors"` // training rows that are classified incorrectly

	// Dual is a lower bound of the best Objective, if the learner has one.
	Dual *float64 `json:"dual,omitempty"`

	// Above bounds how far Objective is above its minimum, by the gradient, if the learner has no Dual.
	Above *float64 `json:"above,omitempty"`

	// Residual is the relative residual of the equations that the weights solve, recomputed from the rows,
	// for learners that solve equations.
	Residual *float64 `json:"residual,omitempty"`

	HeldOut

	// Words describes the progress if losses do not; otherwise "".
	Words string `json:"words,omitempty"`
	// Ended says why the learner ends with this state; "" if it does not.
	Ended string `json:"ended,omitempty"`
	// Detail holds further values, of a type that the learner defines.
	Detail json.RawMessage `json:"detail,omitempty"`
}

// HeldOut has the scores of a state on held-out rows.
type HeldOut struct {
	HeldOutRows   int64   `json:"held_rows"`            // number of held-out rows
	HeldOutLoss   float64 `json:"held_loss"`            // their mean loss
	HeldOutErrors int64   `json:"held_errors"`          // how many of them are classified incorrectly
	HeldOutError  float64 `json:"held_error,omitempty"` // share of those errors by weight, if rows have weights
}

// Gap returns Objective − Dual, which bounds the distance from the optimum, and whether it is known.
func (r Report) Gap() (float64, bool) {
	if r.Dual == nil {
		return 0, false
	}
	return r.Objective - *r.Dual, true
}

package iterative

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/models/linear"
)

// Learner makes the first state, and opens states. Errors of its workers and of Update mean that rows or options
// cannot be learned from, such as weights that overflow.
type Learner interface {
	// Start returns the first state, from the weights of an earlier model (k×D, with k intercepts), or from
	// nothing if init is nil. It returns an error if init does not fit.
	Start(init *linear.Model) ([]byte, error)
	// Open decodes a state. It returns an error for a damaged one, whose sizes it checks before it allocates.
	Open(state []byte) (Round, error)
}

// Round is one round: a state that workers share. It is safe for concurrent use.
type Round interface {
	// Worker begins the work on one partition. carried is what the partition's worker of the round before left
	// for it; nil if nothing.
	Worker(partition int, carried []byte) (Worker, error)
	// Update makes the next state from the partial results of the workers. next returns these in the order
	// of the partitions, and then io.EOF. The report is about the state that the round began with.
	Update(next func() ([]byte, error)) (state []byte, report Report, err error)
	// Reads reports whether workers of this round take rows. Otherwise Take is not called: a worker uses
	// only the state and what its partition has carried over.
	Reads() bool
	// Done reports whether the learner ends by its own options. A caller may stop earlier, by the reports.
	Done() bool
}

// LinearRound is a Round whose state is a linear model.
type LinearRound interface {
	Round
	// Model returns the weights of the state, as float32, k×D with k intercepts.
	Model() *linear.Model
}

// Worker processes the rows of one partition. It is used by one goroutine, and works on one thread unless
// it is Threaded.
type Worker interface {
	// Take takes the next block of rows. It must not keep the block.
	Take(b Block) error
	// End returns the partial result for Update, and the carried state for the partition's next worker (nil if none).
	End() (partial, carried []byte, err error)
}

// Threaded is a Worker that can use several threads, if there are fewer partitions than threads. Its result
// does not depend on their number.
type Threaded interface {
	Worker
	// Threads sets the number of threads, before the first Take.
	Threads(n int)
}

// Block is a block of rows as features. Blocks of training rows and of held-out rows may alternate. Both
// come in the same order in every round.
type Block struct {
	N, D int
	Phi  []float32 // row-major N×D: features

	// Y has length N: the index of the class, or a target minus the median, in units of the spread of the targets.
	Y []float32

	// Weights has length N: the weights of the rows, in units of the mean weight of all training rows. It
	// is empty if all weights are equal.
	Weights []float64

	// HeldOut is true if the rows are only scored, not learned from.
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
func EachPartial(next func() ([]byte, error), f func(partition int, partial []byte) error) error {
	for partition := 0; ; partition++ {
		partial, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(partition, partial); err != nil {
			return err
		}
	}
}

// CheckInit returns an error unless an earlier model has these numbers of outputs and
// features (dim), and its weights and intercepts are finite.
func CheckInit(init *linear.Model, outputs, dim int) error {
	if init.K != outputs || init.D != dim || len(init.W) != outputs*dim || len(init.B) != outputs {
		return fmt.Errorf("earlier model: %d outputs on %d features, want %d on %d", init.K, init.D, outputs, dim)
	}
	if !exact.AllFinite(init.W) || !exact.AllFinite(init.B) {
		return errors.New("earlier model: weights are not finite")
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

	// Ended is the reason why the learner ends with this state; "" if it does not.
	Ended string `json:"ended,omitempty"`

	// Detail holds further values, of a type that the learner defines.
	Detail json.RawMessage `json:"detail,omitempty"`
}

// HeldOut holds the scores of a state on held-out rows.
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

// MaxPartitions is the largest number of partitions.
const MaxPartitions = 1 << 14

// Files reads a file that the options of a learner name and returns the result of decode. It may cache results.
type Files func(uri string, decode func([]byte) (any, error)) (any, error)

// Opener makes a learner from its options in JSON.
type Opener func(options []byte, files Files) (Learner, error)

// OpenerOf returns the opener of a learner whose options name no files.
func OpenerOf[O any, L Learner](newLearner func(O) (L, error)) Opener {
	return func(options []byte, _ Files) (Learner, error) {
		var o O
		if err := json.Unmarshal(options, &o); err != nil {
			return nil, fmt.Errorf("iterative: options of the learner: %w", err)
		}
		return newLearner(o)
	}
}

var openers = option.NewRegistry[Opener]("kind of learner")

// RegisterOpener registers a kind of learner, so that workers can open it. Packages call it from init. It
// panics if the kind is empty or taken.
func RegisterOpener(kind string, open Opener) { openers.Add(open, nil, kind) }

// OpenLearner makes the learner of a kind from its options in JSON.
func OpenLearner(kind string, options []byte, files Files) (Learner, error) {
	open, ok := openers.Find(kind)
	if !ok {
		return nil, fmt.Errorf("iterative: unknown learner %q; have %s; import the package of the learner", kind,
			strings.Join(openers.Names(), ", "))
	}
	return open(options, files)
}

// Stop holds the stopping conditions. The first that is met ends the rounds.
type Stop struct {
	// Most rounds of an iterative learner, each one pass over the data; 0 is 1000 for svm, 500 for cg
	// and 100 for sgd. They stop earlier when they have converged.
	Rounds int `flag:"rounds"`

	// Stop when the duality gap (a bound on the distance of the objective from its optimum) is at most
	// this share of the objective; 0 is 1e-3 for svm unless --rounds is given.
	Gap float64 `flag:"gap"`

	// Stop after this many rounds without a lower held-out error, and keep the best round; 0 disables.
	Patience int `flag:"patience"`

	// Time limit for all rounds, such as 90s or 2h. The values of lambda that are tried and the final
	// fit share it: each stops after the round in which its share is used up, and what has not started
	// by then is skipped, with a note. With a limit the model depends on the clock; 0 disables.
	Time time.Duration `flag:"max_time"`
}

// Better reports whether a has a lower held-out error than b: the number of wrong classes, or their weight if
// rows have weights; the loss for targets.
func (a HeldOut) Better(b HeldOut) bool {
	if a.HeldOutError != b.HeldOutError {
		return a.HeldOutError < b.HeldOutError
	}
	if a.HeldOutErrors != b.HeldOutErrors {
		return a.HeldOutErrors < b.HeldOutErrors
	}
	return a.HeldOutLoss < b.HeldOutLoss
}

// Decide reports whether the rounds in the history are enough, which state to take, and why no more are
// needed. The state is the last one or, with patience, the one with the least held-out error. done is true
// if the learner ends. The first report at which a condition is met decides, however many follow.
func (s Stop) Decide(history []Report, done bool) (taken int, why string, reached bool) {
	best := 0
	for i, r := range history {
		if r.Better(history[best].HeldOut) {
			best = i
		}
		taken = i
		switch {
		case !exact.Finite(r.Objective):
			return i, fmt.Sprintf("round %d: the objective is %g", i, r.Objective), true
		case s.near(r):
			return i, fmt.Sprintf("the gap is at most %g of the objective", s.Gap), true
		case s.Patience > 0 && i-best >= s.Patience:
			if s.Patience == 1 {
				return best, "1 round has not lowered the held-out error", true
			}
			return best, fmt.Sprintf("%d rounds have not lowered the held-out error", s.Patience), true
		case i >= s.Rounds:
			if s.Patience > 0 {
				taken = best
			}
			switch {
			case done:
				return taken, cmp.Or(r.Ended, "the learner is at its end"), true
			case s.Rounds == 1:
				return taken, "1 round", true
			}
			return taken, fmt.Sprintf("%d rounds", s.Rounds), true
		}
	}
	return taken, "", false
}

// near reports whether the gap is small enough.
func (s Stop) near(r Report) bool {
	gap, known := r.Gap()
	return s.Gap > 0 && known && gap <= s.Gap*math.Abs(r.Objective)
}

// Compared returns the number of states among which the taken one had the least held-out error; 0 if it was
// not chosen that way.
func (s Stop) Compared(history []Report, taken int) int {
	n := min(len(history), taken+s.Patience+1)
	better := func(r Report) bool { return r.Better(history[taken].HeldOut) }
	if s.Patience == 0 || s.near(history[taken]) || slices.ContainsFunc(history[:n], better) {
		return 0
	}
	return n
}

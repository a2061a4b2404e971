package iterative

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Stop holds the stopping conditions. The first that is met ends the rounds.
type Stop struct {
	Rounds   int           `flag:"rounds" help:"Most rounds of an iterative learner, each one pass over the data; 0 is 1000 for svm, 500 for cg and 100 for sgd. They stop earlier when they have converged."`
	Gap      float64       `flag:"gap" help:"Stop when the duality gap (a bound on the distance of the objective from its optimum) is at most this share of the objective; 0 is 1e-3 for svm unless --rounds is given."`
	Patience int           `flag:"patience" help:"Stop after this many rounds without a lower held-out error, and keep the best round; 0 disables."`
	Time     time.Duration `flag:"max_time" help:"Time limit for all rounds, such as 90s or 2h. The values of lambda that are tried and the final fit share it: each stops after the round in which its share is used up, and what has not started by then is skipped, with a note. With a limit the model depends on the clock; 0 disables."`
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

// Reached reports whether the rounds in the history are enough, which state to take, and why no more are
// needed. The state is the last one or, with patience, the one with the least held-out error. done says
// that the learner ends. The first report at which a condition is met decides, however many follow.
func (s Stop) Reached(history []Report, done bool) (taken int, why string, reached bool) {
	best := 0
	for i, r := range history {
		if r.Better(history[best].HeldOut) {
			best = i
		}
		taken = i
		switch {
		case r.Objective-r.Objective != 0:
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

package rounds

import (
	"fmt"
	"math"
	"time"
)

// Stop says when rounds are enough: at the first of what it names.
type Stop struct {
	Rounds   int           `flag:"rounds" help:"Most rounds of an iterative learner, each a pass over the data; 0 is 1000 for svm, 100 for sgd; both end before where they have converged."`
	Gap      float64       `flag:"gap" help:"Stop when the duality gap, how far at most the objective is from the best, is at most this share of it; 0 is 1e-3 for svm unless --rounds is given."`
	Patience int           `flag:"patience" help:"Stop when so many rounds have not lowered the held-out error, and take the best of them; 0 for no such end."`
	Time     time.Duration `flag:"max_time" help:"Limit of the time (such as 90s or 2h) of all rounds: of every lambda that is tried and of the fit to all rows, which share it. Each stops after the round in which its share is over, and what is not begun by then is left out, with a note. 0 disables. The model then depends on the clock."`
}

// Better compares states by what held-out rows say of them: errors of classes, loss of
// numbers.
func Better(a, b Report) bool {
	if a.HeldErrors != b.HeldErrors {
		return a.HeldErrors < b.HeldErrors
	}
	return a.HeldLoss < b.HeldLoss
}

// Reached tells whether the rounds that the history reports are enough, which state is
// to be taken (that of the last round, or where patience counts that with the least
// held-out error), and why there are to be no more. Done says that the learner itself
// is at its end. It goes by the first report that says so, however many follow.
func (s Stop) Reached(history []Report, done bool) (taken int, why string, reached bool) {
	best := 0
	for i, r := range history {
		if Better(r, history[best]) {
			best = i
		}
		taken = i
		switch gap, known := r.Gap(); {
		case r.Objective-r.Objective != 0:
			return i, fmt.Sprintf("round %d: the objective is %g", i, r.Objective), true
		case s.Gap > 0 && known && gap <= s.Gap*math.Abs(r.Objective):
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
				return taken, "the learner is at its end", true
			case s.Rounds == 1:
				return taken, "1 round", true
			}
			return taken, fmt.Sprintf("%d rounds", s.Rounds), true
		}
	}
	return taken, "", false
}

package iterative

import (
	"fmt"
	"io"
	"time"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/models/linear"
)

// run runs a learner with one partition over blocks of rows in memory, in their order, from an empty state
// until stop is met.
//
// Training on files runs the same loop on a Beam runner, with the same bytes for the same blocks.
func run(l Learner, blocks []Block, stop Stop, threads int) (*FitResult, error) {
	state, err := l.Start(nil)
	if err != nil {
		return nil, err
	}
	var (
		history  []Report
		carried  []byte // carried state of the partition
		best     []byte // state with the least held-out error
		bestAt   int    // number of its round
		finished bool
		begun    = time.Now()
	)
	for {
		round, err := l.Open(state)
		if err != nil {
			return nil, err
		}
		if at := len(history); round.Done() && at > 0 {
			stop.Rounds, finished = min(stop.Rounds, at), true
		}
		next, report, kept, err := pass(round, blocks, carried, threads)
		if err != nil {
			return nil, err
		}
		report.Round = len(history)
		history = append(history, report)
		if len(history) == 1 || report.Better(history[bestAt].HeldOut) {
			best, bestAt = state, report.Round
		}
		taken, why, enough := stop.Decide(history, finished)
		if !enough && stop.Time > 0 && time.Since(begun) >= stop.Time && len(history) > 1 {
			why, enough = "time limit reached", true
		}
		if !enough {
			state, carried = next, kept
			continue
		}
		if r := history[taken]; !exact.Finite(r.Objective) {
			return nil, fmt.Errorf("iterative: after %d rounds the objective is %g: the weights diverge; try a larger lambda "+
				"or a smaller rate", taken, r.Objective)
		}
		if taken != report.Round {
			if round, err = l.Open(best); err != nil {
				return nil, err
			}
		}
		fitted, ok := round.(LinearRound)
		if !ok {
			return nil, fmt.Errorf("iterative: %T has no linear model", round)
		}
		return &FitResult{Machine: &linear.Machine{Linear: fitted.Model()}, History: history[:taken+1], Ended: why}, nil
	}
}

// pass runs one round over the blocks. It returns the next state, and the carried state of the partition.
func pass(r Round, blocks []Block, carried []byte, threads int) (next []byte, report Report, kept []byte, err error) {
	w, err := r.Worker(0, carried)
	if err != nil {
		return nil, report, nil, err
	}
	if t, ok := w.(Threaded); ok {
		t.Threads(max(1, threads))
	}
	if r.Reads() {
		for _, b := range blocks {
			if err := w.Take(b); err != nil {
				return nil, report, nil, err
			}
		}
	}
	partial, kept, err := w.End()
	if err != nil {
		return nil, report, nil, err
	}
	once := false
	next, report, err = r.Update(func() ([]byte, error) {
		if once {
			return nil, io.EOF
		}
		once = true
		return partial, nil
	})
	return next, report, kept, err
}

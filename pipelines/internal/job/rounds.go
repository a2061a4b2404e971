package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/epochs"
)

// RoundOptions says when rounds stop, and how they run.
type RoundOptions struct {
	iterative.Stop
	iterative.Running
	Needed int // least number of rounds, whatever the time limit
}

// Iteration has the report on the state of each round, and the chosen state.
type Iteration struct {
	Pass    string // URI of the pass file
	History []iterative.Report
	Taken   int // round of the chosen state
	State   []byte
	Why     string        // why the rounds ended
	Each    time.Duration // mean time of a round; 0 if all were found in the work directory
	ended   bool          // the learner ended the rounds
	cleared int           // number of rounds whose files are deleted
}

// Report returns the report on the chosen state.
func (c *Iteration) Report() iterative.Report { return c.History[c.Taken] }

// Chosen returns the reports on the states up to the chosen one.
func (c *Iteration) Chosen() []iterative.Report { return c.History[:c.Taken+1] }

// Rounds runs the learner of a pass from the state first until a stopping rule of o applies. It chooses the
// last state or, if patience ended the rounds, the state with the least held-out error. Rounds that an earlier
// run has completed are not repeated.
func (j *Job) Rounds(ctx context.Context, pass *epochs.Pass, first []byte, o RoundOptions) (*Iteration, error) {
	sc, err := j.Store(ctx, pass)
	if err != nil {
		return nil, err
	}
	sc.Readers = max(1, min(j.Engine.Readers, len(pass.Assignments)))
	learner, err := pass.Learner.Open(ctx)
	if err != nil {
		return nil, err
	}
	r := &rounds{job: j, scan: sc, learner: learner, partitions: pass.Partitions(), first: first, options: o}
	const tries = 3
	for try := 1; ; try++ {
		c := &Iteration{Pass: sc.Pass}
		err := r.run(ctx, c)
		if try == tries || !exit.Damaged(err) && !errors.Is(err, errLost) {
			return c, err
		}
		j.Damage(err)
		if errors.Is(err, errLost) {
			if err := c.deleteReports(ctx); err != nil {
				return nil, err
			}
		}
	}
}

// errLost means that the chosen state no longer exists.
var errLost = errors.New("pipelines: the work directory no longer contains the best state")

// rounds are the rounds of a pass.
type rounds struct {
	job        *Job
	scan       transforms.Scan
	learner    iterative.Learner
	partitions int
	first      []byte // the first state
	options    RoundOptions
}

// run is one attempt of Rounds.
func (r *rounds) run(ctx context.Context, c *Iteration) error {
	j, o := r.job, r.options
	if err := c.resume(ctx, j, r.partitions, r.first); err != nil {
		return err
	}
	if n := len(c.History); n > 0 {
		j.Progress.Notef("found %s in the work directory", report.Counted(n, "round"))
		if err := c.done(ctx, r.learner, &o); err != nil {
			return err
		}
	}
	begun, ran, last := time.Now(), 0, 0
	started := begun // start of the last job
	for !c.stop(o, time.Since(begun), time.Since(started)) {
		started = time.Now()
		// Files are deleted only after the next job, because an earlier state may still be chosen, and only once
		// newer ones are safe from a power failure. If many files wait, wait for the disk.
		if last-c.cleared > maxUncleared {
			storage.Flush()
		}
		if storage.Flushed() {
			if err := c.clear(ctx, r.partitions, last); err != nil {
				return err
			}
		}
		at := len(c.History)
		n := max(1, min(o.PerJob, o.Rounds+1-at))
		if err := j.Run(ctx, func(s beam.Scope) { epochs.Rounds(s, r.scan, at, n, o.Keep) }); err != nil {
			return err
		}
		for i := at; i < at+n; i++ {
			if err := c.read(ctx, i); err != nil {
				return err
			}
		}
		ran += n
		c.Each = time.Since(begun) / time.Duration(ran)
		j.Progress.Notef("%s", c.progress(o, time.Since(begun), ran))
		if err := c.done(ctx, r.learner, &o); err != nil {
			return err
		}
		last = at
	}
	return c.readState(ctx, r.partitions)
}

// readState reads the chosen state.
func (c *Iteration) readState(ctx context.Context, partitions int) (err error) {
	c.State, err = storage.ReadState(ctx, epochs.StateFile(c.Pass, c.Taken), transforms.MaxState)
	for p := 0; err == nil && c.Taken > 0 && p < partitions; p++ {
		err = storage.CheckState(ctx, epochs.CarriedFile(c.Pass, c.Taken-1, p)) // a certificate needs it
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, storage.ErrDamaged) {
		err = fmt.Errorf("%w: that of round %d", errLost, c.Taken)
	}
	return err
}

// maxUncleared is the number of rounds with files to delete above which the job waits for the disk.
const maxUncleared = 8

// deleteReports deletes the reports of all rounds, so that they start again.
func (c *Iteration) deleteReports(ctx context.Context) error {
	for i := range c.History {
		if err := storage.Remove(ctx, epochs.ReportFile(c.Pass, i)); err != nil {
			return err
		}
	}
	return nil
}

// done ends the rounds if the learner reports that it has finished.
func (c *Iteration) done(ctx context.Context, l iterative.Learner, o *RoundOptions) error {
	at := len(c.History)
	if i := slices.IndexFunc(c.History,
		func(r iterative.Report) bool { return r.Residual != nil }); i >= 0 { // it finished inside a job of several rounds
		o.Rounds, c.ended = min(o.Rounds, i), true
		return nil
	}
	state, err := storage.ReadState(ctx, epochs.StateFile(c.Pass, at), transforms.MaxState)
	if err != nil {
		return err
	}
	round, err := l.Open(state)
	if err == nil && round.Done() {
		o.Rounds, c.ended = min(o.Rounds, at), true
	}
	return err
}

// resume reads the reports of the rounds that an earlier run completed. If the state after a round is damaged
// or missing, it drops that round. Without --resume the work directory is empty, and so is the history.
func (c *Iteration) resume(ctx context.Context, j *Job, partitions int, first []byte) error {
	for i := 0; ; i++ {
		whole, err := j.Intact(ctx, epochs.ReportFile(c.Pass, i))
		if err != nil {
			return err
		}
		if !whole {
			break
		}
		if err := c.read(ctx, i); err != nil {
			return err
		}
	}
	for n := len(c.History); n > 0; n-- {
		state := []string{epochs.StateFile(c.Pass, n)}
		for p := range partitions {
			state = append(state, epochs.CarriedFile(c.Pass, n-1, p))
		}
		whole, err := j.Intact(ctx, state...)
		if err != nil {
			return err
		}
		if whole {
			c.History = c.History[:n]
			return nil
		}
	}
	c.History = nil
	return storage.WriteState(ctx, epochs.StateFile(c.Pass, 0), first)
}

func (c *Iteration) read(ctx context.Context, round int) error {
	uri := epochs.ReportFile(c.Pass, round)
	data, err := storage.ReadState(ctx, uri, transforms.MaxState)
	if err != nil {
		return err
	}
	var r iterative.Report
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("pipelines: report %s: %w; run again without --resume", uri, err)
	}
	r.Round = round
	c.History = append(c.History, r)
	return nil
}

// stop reports whether the rounds have ended, and sets the chosen state. It uses the first report that meets a
// stopping rule, so the result does not depend on the number of rounds per job. Under a time limit, another job
// begins if at least half of it, by the time of the last job, is within the limit.
func (c *Iteration) stop(o RoundOptions, spent, last time.Duration) (enough bool) {
	c.Taken, c.Why, enough = o.Decide(c.History, c.ended)
	if enough {
		return true
	}
	if o.Time > 0 && spent+last/2 >= o.Time && len(c.History) > o.Needed {
		c.Why = "time limit reached"
		return true
	}
	return false
}

// clear deletes states and partial results of rounds before the given one, except for the state with the least
// held-out error.
func (c *Iteration) clear(ctx context.Context, partitions, before int) error {
	best := 0
	for i, r := range c.History {
		if r.Better(c.History[best].HeldOut) {
			best = i
		}
	}
	for ; c.cleared < before; c.cleared++ {
		for p := range partitions {
			if err := storage.Remove(ctx, epochs.PartialFile(c.Pass, c.cleared, p)); err != nil {
				return err
			}
			if c.cleared == best || c.cleared == 0 {
				continue
			}
			if err := storage.Remove(ctx, epochs.CarriedFile(c.Pass, c.cleared-1, p)); err != nil {
				return err
			}
		}
		if c.cleared == best {
			continue
		}
		if err := storage.Remove(ctx, epochs.StateFile(c.Pass, c.cleared)); err != nil {
			return err
		}
	}
	return nil
}

// progress returns the status line of the rounds.
func (c *Iteration) progress(o RoundOptions, spent time.Duration, ran int) string {
	last := len(c.History) - 1
	r := c.History[last]
	for i := last; i >= 0; i-- {
		if words := c.History[i].Words; words != "" {
			return fmt.Sprintf("round %d: %s; %s", last, words, spent.Round(time.Second/10))
		}
	}
	text := fmt.Sprintf("round %d: objective %.6g", last, r.Objective)
	gap, known := r.Gap()
	if known {
		text += fmt.Sprintf(", gap %.2g of it", gap/math.Abs(r.Objective))
	}
	if r.HeldOutRows > 0 {
		text += fmt.Sprintf(", held-out loss %.4g", r.HeldOutLoss)
		if r.HeldOutErrors > 0 {
			text += fmt.Sprintf(", error %.2f%%", 100*float64(r.HeldOutErrors)/float64(r.HeldOutRows))
		}
	}
	each := spent / time.Duration(ran)
	left := time.Duration(o.Rounds-last) * each
	what := "at most"
	if rounds := c.roundsLeft(o); known && rounds >= 0 && time.Duration(rounds)*each < left {
		left, what = time.Duration(rounds)*each, "about"
	}
	return text + fmt.Sprintf("; %s, %s %s left", spent.Round(time.Second/10), what, left.Round(time.Second/10))
}

// roundsLeft estimates how many rounds remain until the gap closes, from its decrease in the last rounds;
// negative if unknown.
func (c *Iteration) roundsLeft(o RoundOptions) int {
	const back = 5
	last := len(c.History) - 1
	if o.Gap == 0 || last < back {
		return -1
	}
	now, _ := c.History[last].Gap()
	then, _ := c.History[last-back].Gap()
	goal := o.Gap * math.Abs(c.History[last].Objective)
	if !(now < then) || now <= 0 || goal <= 0 {
		return -1
	}
	return max(0, int(math.Ceil(back*math.Log(now/goal)/math.Log(then/now))))
}

// Limit divides a total time among consecutive runs.
type Limit struct {
	Begun time.Time
	Total time.Duration // 0 for none
	Least time.Duration // least time that a run is expected to take; 0 if unknown
}

// Share returns the time for the next of the remaining runs. It returns false if less than Least is
// left.
func (l Limit) Share(runs int) (time.Duration, bool) {
	if l.Total == 0 {
		return 0, true
	}
	left := l.Total - time.Since(l.Begun)
	return max(1, left/time.Duration(runs)), left > l.Least
}

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
	"github.com/bochner-ml/bochner/transforms/learn"
)

// RoundOptions are the limits of rounds, and how they run.
type RoundOptions struct {
	iterative.Stop
	iterative.Running
	Needed int // least number of rounds, also beyond the time limit
}

// Iteration holds the report on the state of each round, and the chosen state.
type Iteration struct {
	Pass     string // URI of the pass file
	History  []iterative.Report
	Taken    int // round of the chosen state
	State    []byte
	Ended    string        // why the rounds ended
	MeanTime time.Duration // mean time of a round; 0 if all were found in the work directory
	finished bool          // the learner ended the rounds
	cleared  int           // number of rounds whose files are deleted
}

// Report returns the report on the chosen state.
func (it *Iteration) Report() iterative.Report { return it.History[it.Taken] }

// Chosen returns the reports on the states up to the chosen one.
func (it *Iteration) Chosen() []iterative.Report { return it.History[:it.Taken+1] }

// Rounds runs the learner of a pass from the state first until a stopping rule of o applies. It chooses the
// last state or, if patience ended the rounds, the state with the least held-out error. Rounds that an earlier
// run has completed are not repeated.
func (j *Job) Rounds(ctx context.Context, pass *learn.Pass, first []byte, o RoundOptions) (*Iteration, error) {
	sc, err := j.StorePass(ctx, pass)
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
		it := &Iteration{Pass: sc.Pass}
		err := r.run(ctx, it)
		if try == tries || !exit.Damaged(err) && !errors.Is(err, errLost) {
			return it, err
		}
		j.NoteDamage(err)
		if errors.Is(err, errLost) {
			if err := it.deleteReports(ctx); err != nil {
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
func (r *rounds) run(ctx context.Context, it *Iteration) error {
	j, o := r.job, r.options
	if err := it.resume(ctx, j, r.partitions, r.first); err != nil {
		return err
	}
	if n := len(it.History); n > 0 {
		j.Progress.Notef("found %s in the work directory", report.Counted(n, "round"))
		if err := it.finishIfDone(ctx, r.learner, &o); err != nil {
			return err
		}
	}
	begun, ran, last := time.Now(), 0, 0
	started := begun // start of the last job
	for !it.stop(o, time.Since(begun), time.Since(started)) {
		started = time.Now()
		// Files are deleted only after the next job, because an earlier state may still be chosen, and only once
		// newer ones are safe from a power failure. If many files wait, wait for the disk.
		if last-it.cleared > maxUncleared {
			storage.Flush()
		}
		if storage.Flushed() {
			if err := it.clear(ctx, r.partitions, last); err != nil {
				return err
			}
		}
		at := len(it.History)
		n := max(1, min(o.PerJob, o.Rounds+1-at))
		if err := j.Run(ctx, func(s beam.Scope) { learn.Rounds(s, r.scan, at, n, o.Keep) }); err != nil {
			return err
		}
		for i := at; i < at+n; i++ {
			if err := it.read(ctx, i); err != nil {
				return err
			}
		}
		ran += n
		it.MeanTime = time.Since(begun) / time.Duration(ran)
		j.Progress.Notef("%s", it.progress(o, time.Since(begun), ran))
		if err := it.finishIfDone(ctx, r.learner, &o); err != nil {
			return err
		}
		last = at
	}
	return it.readState(ctx, r.partitions)
}

// readState reads the chosen state.
func (it *Iteration) readState(ctx context.Context, partitions int) (err error) {
	it.State, err = storage.ReadState(ctx, learn.StateFile(it.Pass, it.Taken), transforms.MaxState)
	for p := 0; err == nil && it.Taken > 0 && p < partitions; p++ {
		err = storage.CheckState(ctx, learn.CarriedFile(it.Pass, it.Taken-1, p)) // a certificate needs it
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, storage.ErrDamaged) {
		err = fmt.Errorf("%w: round %d", errLost, it.Taken)
	}
	return err
}

// maxUncleared is the number of rounds with files to delete above which the job waits for the disk.
const maxUncleared = 8

// deleteReports deletes the reports of all rounds, so that they start again.
func (it *Iteration) deleteReports(ctx context.Context) error {
	for i := range it.History {
		if err := storage.Remove(ctx, learn.ReportFile(it.Pass, i)); err != nil {
			return err
		}
	}
	return nil
}

// finishIfDone ends the rounds if the learner reports that it has finished.
func (it *Iteration) finishIfDone(ctx context.Context, l iterative.Learner, o *RoundOptions) error {
	at := len(it.History)
	if i := slices.IndexFunc(it.History,
		func(r iterative.Report) bool { return r.Residual != nil }); i >= 0 { // it finished inside a job of several rounds
		o.Rounds, it.finished = min(o.Rounds, i), true
		return nil
	}
	state, err := storage.ReadState(ctx, learn.StateFile(it.Pass, at), transforms.MaxState)
	if err != nil {
		return err
	}
	round, err := l.Open(state)
	if err != nil {
		return err
	}
	if round.Done() {
		o.Rounds, it.finished = min(o.Rounds, at), true
	}
	return nil
}

// resume reads the reports of the rounds that an earlier run completed. If the state after a round is damaged
// or missing, it drops that round. Without --resume the work directory is empty, and so is the history.
func (it *Iteration) resume(ctx context.Context, j *Job, partitions int, first []byte) error {
	for i := 0; ; i++ {
		whole, err := j.Intact(ctx, learn.ReportFile(it.Pass, i))
		if err != nil {
			return err
		}
		if !whole {
			break
		}
		if err := it.read(ctx, i); err != nil {
			return err
		}
	}
	for n := len(it.History); n > 0; n-- {
		state := []string{learn.StateFile(it.Pass, n)}
		for p := range partitions {
			state = append(state, learn.CarriedFile(it.Pass, n-1, p))
		}
		whole, err := j.Intact(ctx, state...)
		if err != nil {
			return err
		}
		if whole {
			it.History = it.History[:n]
			return nil
		}
	}
	it.History = nil
	return storage.WriteState(ctx, learn.StateFile(it.Pass, 0), first)
}

func (it *Iteration) read(ctx context.Context, round int) error {
	uri := learn.ReportFile(it.Pass, round)
	data, err := storage.ReadState(ctx, uri, transforms.MaxState)
	if err != nil {
		return err
	}
	var r iterative.Report
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("pipelines: report %s: %w; run again without --resume", uri, err)
	}
	r.Round = round
	it.History = append(it.History, r)
	return nil
}

// stop reports whether the rounds have ended, and sets the chosen state. It uses the first report that meets a
// stopping rule, so the result does not depend on the number of rounds per job. Under a time limit, another job
// begins if at least half of it, by the time of the last job, is within the limit.
func (it *Iteration) stop(o RoundOptions, spent, last time.Duration) (enough bool) {
	it.Taken, it.Ended, enough = o.Decide(it.History, it.finished)
	if enough {
		return true
	}
	if o.Time > 0 && spent+last/2 >= o.Time && len(it.History) > o.Needed {
		it.Ended = "time limit reached"
		return true
	}
	return false
}

// clear deletes states and partial results of rounds before the given one, except for the state with the least
// held-out error.
func (it *Iteration) clear(ctx context.Context, partitions, before int) error {
	best := 0
	for i, r := range it.History {
		if r.Better(it.History[best].HeldOut) {
			best = i
		}
	}
	for ; it.cleared < before; it.cleared++ {
		for p := range partitions {
			if err := storage.Remove(ctx, learn.PartialFile(it.Pass, it.cleared, p)); err != nil {
				return err
			}
			if it.cleared == best || it.cleared == 0 {
				continue
			}
			if err := storage.Remove(ctx, learn.CarriedFile(it.Pass, it.cleared-1, p)); err != nil {
				return err
			}
		}
		if it.cleared == best {
			continue
		}
		if err := storage.Remove(ctx, learn.StateFile(it.Pass, it.cleared)); err != nil {
			return err
		}
	}
	return nil
}

// progress returns the status line of the rounds.
func (it *Iteration) progress(o RoundOptions, spent time.Duration, ran int) string {
	last := len(it.History) - 1
	r := it.History[last]
	for i := last; i >= 0; i-- {
		if words := it.History[i].Words; words != "" {
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
	if rounds := it.roundsLeft(o); known && rounds >= 0 && time.Duration(rounds)*each < left {
		left, what = time.Duration(rounds)*each, "about"
	}
	return text + fmt.Sprintf("; %s, %s %s left", spent.Round(time.Second/10), what, left.Round(time.Second/10))
}

// roundsLeft estimates how many rounds remain until the gap closes, from its decrease in the last rounds;
// negative if unknown.
func (it *Iteration) roundsLeft(o RoundOptions) int {
	const back = 5
	last := len(it.History) - 1
	if o.Gap == 0 || last < back {
		return -1
	}
	now, _ := it.History[last].Gap()
	then, _ := it.History[last-back].Gap()
	goal := o.Gap * math.Abs(it.History[last].Objective)
	if !(now < then) || now <= 0 || goal <= 0 {
		return -1
	}
	return max(0, int(math.Ceil(back*math.Log(now/goal)/math.Log(then/now))))
}

// Limit divides a total time among consecutive runs.
type Limit struct {
	Begun time.Time
	Total time.Duration // 0 means no limit
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

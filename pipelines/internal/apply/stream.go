package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/messages"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// PredictStream applies a model to files as they appear, until the context ends or, with UntilIdle, no files
// are left. The end of the context is not an error: the stream finishes its current file.
//
// Each file has one file of predictions with a name that follows from its own. Bad files and files with bad
// rows also have a dead letter. A stream that was killed continues where it stopped when it is started again.
func PredictStream(ctx context.Context, o options.PredictStream) (last *results.StreamRound, err error) {
	s, err := beginStream(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = s.end(ctx, err) }()
	if about := s.engine.About(); about.Reshuffle || about.Machines {
		return nil, s.unbounded(ctx)
	}
	feed, err := s.feed(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, feed.close()) }()
	return (&boundedStream{streamJob: s, feed: feed, last: results.StreamRound{Unit: s.unit()}}).run(ctx)
}

// streamJob is a running stream.
type streamJob struct {
	o      options.PredictStream
	files  *scoring.Files
	engine engine.Engine
	claim  *storage.Claim // on Out, so that a second stream fails at its start
	work   string         // directory of intermediate results
	model  *models.Handle
	worker *transforms.Worker

	began          time.Time
	total          tally
	runs           int    // number of pipelines
	lastRetryNote  string // last note on retries
	lastReloadNote string // last note on why a model was not replaced
}

// beginStream checks the options and opens the model.
func beginStream(ctx context.Context, o options.PredictStream) (_ *streamJob, err error) {
	o.Format = cmp.Or(o.Format, "csv")
	if err := validateStream(o); err != nil {
		return nil, err
	}
	if o.Dead == "" {
		o.Dead = strings.TrimRight(o.Out, "/") + "-dead"
	}
	if err := checkOutputs(o); err != nil {
		return nil, err
	}
	out, dead, err := absoluteOutputs(o)
	if err != nil {
		return nil, err
	}
	s := &streamJob{o: o, engine: o.Job.Engine.WithDefaults(), began: time.Now()}
	s.engine.Note = s.notef
	if !messages.Is(out) {
		if s.claim, err = storage.AcquireClaim(ctx, out); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			err = s.end(ctx, err)
		}
	}()
	s.worker = transforms.NewWorker(out)
	if s.model, err = models.OpenHandle(ctx, o.Model, o.Reload); err != nil {
		return nil, err
	}
	m := s.model.Model(ctx).Manifest
	content, err := contentOf(o.Predict, m)
	if err != nil {
		return nil, err
	}
	threshold, err := ThresholdOf(o.Threshold, o.Model, m)
	if err != nil {
		return nil, err
	}
	name := o.Model
	if !strings.Contains(name, "://") { // workers may have another current directory
		if name, err = filepath.Abs(name); err != nil {
			return nil, err
		}
	}
	s.files = &scoring.Files{
		Model: name, Reload: o.Reload, Out: out, Dead: dead, Data: scoring.NewOpenOptions(o.Data), MaxBad: o.MaxBadFraction,
		Threshold: threshold, Content: content,
		Messages: scoring.Messages{Columns: o.Messages.Columns, Copy: o.Messages.Copy},
	}
	s.work, err = streamWorkDir(out)
	return s, err
}

// absoluteOutputs returns the absolute names of the outputs, in which the stream must not look for data.
func absoluteOutputs(o options.PredictStream) (out, dead string, err error) {
	if out, err = absolute(o.Out); err != nil {
		return "", "", err
	}
	if dead, err = absolute(o.Dead); err != nil || receives(o) {
		return out, dead, err
	}
	return out, dead, checkDisjoint(o, out, dead)
}

// validateStream refuses options that a stream cannot have.
func validateStream(o options.PredictStream) error {
	switch {
	case o.Join != nil || o.MaxDrift != 0:
		return exit.Usagef("--stream cannot be used with --out - or --max_drift: a stream has no end")
	case o.Out == "":
		return exit.Usagef("--out is missing: name the directory to create")
	case isFile(o.Out):
		return exit.Usagef("--stream writes a file for each file: give a directory with --out, not %s", o.Out)
	case o.Model == "":
		return exit.Usagef("--model is missing: name the directory of a model, or DIR@champion")
	case len(o.Data.Files) == 0:
		return exit.Usagef("--data is missing: name a pattern of files")
	case o.Data.Strict:
		return exit.Usagef("--strict compares files with one another; with --stream each is read alone")
	}
	if err := cmp.Or(prepare.CheckAtLeast("poll", o.Poll, time.Millisecond), prepare.CheckAtLeast("reload", o.Reload, 0),
		prepare.CheckAtLeast("settle", o.Settle, 0), prepare.CheckAtLeast("max_age", o.MaxAge, 0),
		prepare.CheckAtLeast("files_per_round", o.PerRound, 1)); err != nil {
		return err
	}
	if err := cmp.Or(checkFormat(o.Format, PredictFormats()), prepare.CheckFraction(o.MaxBadFraction)); err != nil {
		return err
	}
	if err := o.Data.Validate(); err != nil {
		return &exit.UsageError{Err: err}
	}
	return checkMessages(o)
}

// checkDisjoint refuses directories in which the stream would find its own files.
func checkDisjoint(o options.PredictStream, dirs ...string) error {
	for _, pattern := range o.Data.Files {
		abs, err := storage.Abs(pattern)
		if err != nil {
			return err
		}
		matches, err := storage.Matcher(abs)
		if err != nil {
			return err
		}
		for _, dir := range dirs {
			if matches(storage.Join(dir, "x.csv.predictions.csv")) ||
				matches(storage.Join(dir, "x", "x.csv.predictions.csv")) || matches(storage.Join(dir, "x.csv.file.json")) {
				return exit.Usagef("--data %s matches files in %s, where the stream writes: give another directory", pattern, dir)
			}
		}
	}
	return nil
}

// end releases what the stream holds.
func (s *streamJob) end(ctx context.Context, err error) error {
	ctx = context.WithoutCancel(ctx)
	if s.model != nil {
		s.model.Close()
	}
	if s.worker != nil {
		s.worker.Close()
	}
	if s.work != "" {
		err = errors.Join(err, storage.Remove(ctx, s.work))
	}
	if s.claim != nil {
		err = errors.Join(err, s.claim.Drop(ctx))
	}
	return err
}

func (s *streamJob) notef(format string, args ...any) {
	if s.o.Job.Log != nil {
		fmt.Fprintf(s.o.Job.Log, "note: "+format+"\n", args...)
	}
}

// unbounded runs a single pipeline that finds and processes files until it is cancelled.
func (s *streamJob) unbounded(ctx context.Context) error {
	w := scoring.WatchOptions{Patterns: s.o.Data.Files, Poll: s.o.Poll, Settle: s.o.Settle, MaxAge: s.o.MaxAge,
		MaxFiles: s.o.PerRound, Flink: s.engine.Runner == engine.Flink}
	if s.o.UntilIdle {
		return exit.Usagef("--until_idle: the pipeline of the runner %s does not end; use --runner direct", s.engine.Runner)
	}
	s.notef("one pipeline on %s predicts %ss as they appear; its counters are on the pages of the runner",
		s.engine.Runner, s.unit())
	var err error
	if receives(s.o) {
		err = s.receiveUnbounded(ctx)
	} else {
		err = s.engine.Run(ctx, func(scope beam.Scope) { s.files.Arrive(scope, w, s.engine.Threads) })
	}
	if ctx.Err() != nil { // the user has stopped the stream
		s.notef("%s was asked to cancel the pipeline; if its pages still show it, cancel it there", s.engine.Runner)
		return nil
	}
	return err
}

// maxFailedRounds is the number of consecutive rounds in which all files may fail before the stream ends with
// the error.
const maxFailedRounds = 10

// feed returns the source of the stream's tasks.
func (s *streamJob) feed(ctx context.Context) (feed, error) {
	if receives(s.o) {
		return s.receive(ctx)
	}
	return fileFeed{&storage.Watch{Patterns: s.o.Data.Files, Settle: s.o.Settle, MaxAge: s.o.MaxAge, Done: s.files.Done}}, nil
}

// unit returns the noun for a task: file or message.
func (s *streamJob) unit() string {
	if receives(s.o) {
		return "message"
	}
	return "file"
}

// boundedStream is a stream that runs bounded pipelines, in rounds.
type boundedStream struct {
	*streamJob
	feed   feed
	tidied bool                // the files of a killed stream are removed
	failed int                 // number of consecutive rounds that failed
	last   results.StreamRound // the last round that has read from the feed
	counts tally               // of the last round
	told   results.StreamRound // last argument of Each
}

// run runs rounds until the stream is stopped.
func (s *boundedStream) run(ctx context.Context) (*results.StreamRound, error) {
	for {
		begun := time.Now()
		arrived, err := s.next(ctx)
		switch code := exit.CodeOf(err); {
		case err == nil:
			s.failed = 0
		case (code == exit.CodeStorage || code == exit.CodeFailed) && s.failed < maxFailedRounds:
			s.failed++
			s.retry(fault.Text(err))
		default:
			return nil, err
		}
		s.finish(&s.last, &s.counts, begun)
		if why := s.last.ReloadError; why != s.lastReloadNote {
			s.lastReloadNote = why
			if why != "" {
				s.notef("the model %.8s stays in use: %s", s.last.Model, why)
			}
		}
		if err := s.tell(arrived, err == nil); err != nil {
			return nil, err
		}
		settled := s.o.UntilIdle && err == nil && arrived.unsettled == 0
		if ctx.Err() != nil || settled && len(arrived.tasks) == 0 {
			s.last.Ended = true
			s.finish(&s.last, &s.counts, s.began)
			return &s.last, nil
		}
		more := settled || arrived.waited || arrived.backlog > 0
		if err != nil || s.last.Retried > 0 || !more {
			select {
			case <-time.After(s.o.Poll):
			case <-ctx.Done():
			}
		}
	}
}

// next runs one round over the tasks that the feed has.
func (s *boundedStream) next(ctx context.Context) (feedTasks, error) {
	arrived, err := s.feed.next(ctx, s.o.PerRound)
	if err != nil {
		return arrived, err
	}
	if !s.tidied && len(arrived.tasks) > 0 { // the unfinished tasks of a killed stream are among the first
		if err := s.tidy(ctx, arrived.tasks); err != nil {
			return arrived, err
		}
		s.tidied = true
	}
	f := arrived.files
	for _, note := range f.Notes {
		s.notef("%s", note)
	}
	s.last = results.StreamRound{Backlog: arrived.backlog + f.Unsettled + f.Waiting, Waiting: f.Waiting, Old: f.Old,
		Unit: s.unit()}
	s.counts = tally{}
	s.counts.Changed = int64(f.Changed)
	s.total.Changed += s.counts.Changed
	return arrived, s.round(ctx, arrived.tasks)
}

// tell calls Each if the last round has news. A round that failed has only the news of its tasks.
func (s *boundedStream) tell(arrived feedTasks, ended bool) error {
	news := len(arrived.tasks) > s.counts.known
	if ended {
		news = news || s.last.Changed > 0 || s.last.Waiting != s.told.Waiting || s.last.Backlog == 0 && s.told.Backlog > 0
	}
	if !news || s.o.Each == nil {
		return nil
	}
	s.told = s.last
	return s.o.Each(s.last)
}

// retry notes why files are tried again. It does not repeat a note with the same reason.
func (s *streamJob) retry(why string) {
	if why != s.lastRetryNote {
		s.lastRetryNote = why
		s.notef("tried again: %s", why)
	}
}

// round processes files. In this process each file has its own pipeline, so that the stream can stop after any
// of them. On other runners all files share a pipeline, and messages always do.
func (s *boundedStream) round(ctx context.Context, tasks []scoring.Arrival) error {
	each := len(tasks)
	if s.engine.About().Serial && !receives(s.o) {
		each = 1
	}
	for at := 0; at < len(tasks); at += each {
		if ctx.Err() != nil && !receives(s.o) {
			s.last.Backlog += len(tasks) - at
			return nil
		}
		batch := tasks[at:min(at+each, len(tasks))]
		predicted, err := s.predict(context.WithoutCancel(ctx), batch)
		if err == nil {
			predicted, err = s.feed.done(context.WithoutCancel(ctx), predicted)
		}
		if err != nil {
			for _, f := range tasks[at:] {
				s.feed.requeue(f.Path)
			}
			s.counts.Retried += int64(len(tasks) - at)
			s.total.Retried += int64(len(tasks) - at)
			return err
		}
		for _, f := range predicted {
			if f.Changed && s.counts.Changed < 5 { // further ones are only counted
				s.notef("%s", storage.ChangedNote(f.Path))
			}
			if f.Retry != "" {
				s.feed.requeue(f.Path)
				s.retry(f.Path + ": " + f.Retry)
			}
			if f.Bad != "" {
				s.notef("no predictions for %s: %s", f.Path, f.Bad)
			}
			s.counts.add(f)
			s.total.add(f)
		}
	}
	return nil
}

// predict processes files in one pipeline.
func (s *streamJob) predict(ctx context.Context, tasks []scoring.Arrival) ([]scoring.FileResult, error) {
	s.runs++
	list := storage.Join(s.work, fmt.Sprintf("files-%d", s.runs))
	err := s.engine.Run(ctx, func(scope beam.Scope) {
		transforms.WriteLines(scope, list, s.files.Predict(scope, tasks, s.engine.Threads))
	})
	if err != nil {
		return nil, err
	}
	predicted, err := transforms.ReadLines[scoring.FileResult](ctx, list)
	if err != nil {
		return nil, err
	}
	if len(predicted) != len(tasks) {
		return nil, &exit.RunnerError{Runner: s.engine.Runner,
			Err: fmt.Errorf("%d results for %d files", len(predicted), len(tasks))}
	}
	return predicted, storage.Remove(ctx, list)
}

// Package pipelines holds the jobs: train, predict, evaluate, inspect and
// generate. Each is a function that a Go program can call, and a command made of
// it. A job builds a graph of transforms for each pass over the data, runs it on
// a Beam runner, and decides between passes; what a pass has finished stands in
// the job's work directory, so that a job which was stopped can go on.
//
// A job runs in the process that calls it and opens no port. It prints nothing but to
// JobOptions.Log, leaves the loggers of the program alone, save that Beam's log lines
// about the job are dropped unless Engine.Verbose is set, and never ends the process.
// The runners universal, flink and dataflow start the program again as a worker:
// such a program calls flag.Parse and then beam.Init at the beginning of main.
package pipelines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/io/dataset"
	_ "github.com/bochner-ml/bochner/io/formats"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/transforms"
)

// JobOptions are what all jobs over data have in common. None of them changes a
// result.
type JobOptions struct {
	Engine Engine
	Work   string    // work directory; "" is a hidden one beside what the job makes
	Resume bool      // go on with what an earlier run has left in it
	Log    io.Writer // progress and notes; nil is none

	ShardBytes int64 // to which plain files are cut; 0 is 32 MiB

	// LimitMemory has Go's garbage collector work to what a training is planned to take,
	// while the job runs: it sets the process's memory limit, unless it has one (GOMEMLIMIT).
	LimitMemory bool
}

// shards cuts the data as the options say.
func (o JobOptions) shards(d *dataset.Dataset) []dataset.Shard {
	size := o.ShardBytes
	if size <= 0 {
		size = shardBytes
	}
	return d.Shards(size)
}

// job is what every job has while it runs.
type job struct {
	opts      JobOptions
	engine    Engine
	work      *work
	scratch   func() error       // removes a directory at the end; nil for none
	worker    *transforms.Worker // of the workers in this process
	progress  *progress
	seconds   map[string]float64 // wall time by part of the job
	unlimited int64              // the process's memory limit before the job set one; 0 if it did not
	percent   int                // that of its collector, likewise

	// frequencies are those that recipes of the job's passes name, once there are any.
	frequencies *transforms.Frequencies
}

// newJob begins a job that makes out.
func newJob(ctx context.Context, o JobOptions, out string) (*job, error) {
	w, err := openWork(ctx, workOptions{o.Work, o.Resume}, out)
	if err != nil {
		return nil, err
	}
	worker := transforms.NewWorker(w.dir)
	j := &job{opts: o, engine: o.Engine.withDefaults(), work: w, worker: worker, seconds: map[string]float64{}}
	j.progress = newProgress(o.Log, worker.Rows)
	j.progress.count = o.Engine.countsRows()
	j.engine.note = j.progress.note
	return j, nil
}

// close ends the job, which returns what close does.
func (j *job) close(ctx context.Context, err error) error {
	j.progress.done()
	if j.percent != 0 {
		debug.SetGCPercent(j.percent)
	}
	if j.unlimited != 0 {
		debug.SetMemoryLimit(j.unlimited)
	}
	err = j.work.close(ctx, err)
	j.worker.Close()
	if j.scratch != nil {
		if removeErr := j.scratch(); removeErr != nil {
			j.work.notes = append(j.work.notes, fmt.Sprintf("a temporary directory could not be removed: %v", removeErr))
		}
	}
	for _, note := range j.work.notes {
		j.progress.note("%s", note)
	}
	return err
}

// timed runs a part of the job and notes how long it took.
func (j *job) timed(ctx context.Context, name string, part func(context.Context) error) error {
	begun := time.Now()
	err := part(ctx)
	j.seconds[name] = time.Since(begun).Seconds()
	return err
}

// takeFrequencies has the passes to come know the learned frequencies of a model, if
// it has any.
func (j *job) takeFrequencies(model string, m *models.Manifest) error {
	f, ok := m.File(learned.FileName)
	if !ok {
		return nil
	}
	dir, err := storage.Abs(model)
	j.frequencies = &transforms.Frequencies{URI: storage.Join(dir, f.Name), SHA256: f.SHA256}
	return err
}

// run runs one pipeline.
func (j *job) run(ctx context.Context, build func(beam.Scope)) error {
	return j.engine.run(ctx, build)
}

// limitMemory has the collector keep the process within so many bytes, or, if they are
// not known yet and 0, within a quarter more than what is in use.
func (j *job) limitMemory(peak int64) {
	if !j.opts.LimitMemory || !j.engine.inProcess() {
		return
	}
	if j.unlimited == 0 {
		was := debug.SetMemoryLimit(-1)
		if was != math.MaxInt64 {
			return // the user has set one
		}
		j.unlimited = was
	}
	switch {
	case peak == 0:
		j.percent = debug.SetGCPercent(25)
		return
	case j.percent != 0:
		debug.SetGCPercent(j.percent)
		j.percent = 0
	}
	// A third of the program is memory of Go, too: without it the collector of a small
	// job would run all the time.
	debug.SetMemoryLimit(max(peak-programBytes*2/3, slackBytes))
}

// openData opens the data of a job.
func openData(ctx context.Context, o dataset.Options, log io.Writer) (*dataset.Dataset, error) {
	if len(o.Data) == 0 {
		return nil, usage("no data: name files with --data")
	}
	if err := o.Validate(); err != nil {
		return nil, &UsageError{err}
	}
	d, err := dataset.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if log != nil {
		for _, note := range d.Notes {
			fmt.Fprintf(log, "note: %s\n", note)
		}
	}
	return d, nil
}

// newScratchJob begins a job that makes no directory: what it keeps is gone when it is
// closed.
func newScratchJob(ctx context.Context, o JobOptions) (*job, error) {
	dir, remove, err := newTemp(ctx)
	if err != nil {
		return nil, err
	}
	j, err := newJob(ctx, o, storage.Join(dir, "job"))
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	j.scratch = remove
	return j, nil
}

// share puts the frequencies into the work directory, where workers find them.
func (j *job) share(ctx context.Context, data []byte, sum string) error {
	j.frequencies = &transforms.Frequencies{URI: storage.Join(j.work.dir, "frequencies-"+sum[:16]+".safetensors"), SHA256: sum}
	_, err := storage.CreateState(ctx, j.frequencies.URI, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	return err
}

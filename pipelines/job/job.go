// Package job is the common part of the jobs: a Job has a work directory, an engine and
// progress; it runs passes over the data (Scan and its relatives), the rounds of iterative
// learners, and publishes what it has made. What a pass has finished stands in the work
// directory, so that a job which was stopped can continue.
package job

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
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/report"
	"github.com/bochner-ml/bochner/pipelines/workdir"
	"github.com/bochner-ml/bochner/transforms"
)

// Options are what all jobs over data have in common. None of them changes a
// result.
type Options struct {
	Engine engine.Engine
	Work   string    // work directory; "" is a hidden one beside what the job makes
	Resume bool      // go on with what an earlier run has left in it
	Log    io.Writer // progress and notes; nil is none

	ShardBytes int64 // to which plain files are cut; 0 is 32 MiB

	// LimitMemory has Go's garbage collector work to what a training is planned to take,
	// while the job runs: it sets the process's memory limit, unless it has one (GOMEMLIMIT).
	LimitMemory bool
}

// Shards cuts the data as the options say.
func (o Options) Shards(d *dataset.Dataset) []dataset.Shard {
	size := o.ShardBytes
	if size <= 0 {
		size = ShardBytes
	}
	return d.Shards(size)
}

// Job is what every job has while it runs.
type Job struct {
	Opts      Options
	Engine    engine.Engine
	Work      *workdir.Dir
	scratch   func() error       // removes a directory at the end; nil for none
	Worker    *transforms.Worker // of the workers in this process
	Progress  *report.Progress
	Seconds   map[string]float64 // wall time by part of the job
	unlimited int64              // the process's memory limit before the job set one; 0 if it did not
	percent   int                // that of its collector, likewise

	// frequencies are those that recipes of the job's passes name, once there are any.
	frequencies *transforms.Frequencies
}

// New begins a job that makes out.
func New(ctx context.Context, o Options, out string) (*Job, error) {
	w, err := workdir.Open(ctx, workdir.Options{Dir: o.Work, Resume: o.Resume}, out)
	if err != nil {
		return nil, err
	}
	worker := transforms.NewWorker(w.Dir)
	j := &Job{Opts: o, Engine: o.Engine.WithDefaults(), Work: w, Worker: worker, Seconds: map[string]float64{}}
	j.Progress = report.NewProgress(o.Log, worker.Rows)
	j.Progress.Count = o.Engine.CountsRows()
	j.Engine.Note = j.Progress.Note
	return j, nil
}

// Close ends the job, which returns what close does.
func (j *Job) Close(ctx context.Context, err error) error {
	j.Progress.Done()
	if j.percent != 0 {
		debug.SetGCPercent(j.percent)
	}
	if j.unlimited != 0 {
		debug.SetMemoryLimit(j.unlimited)
	}
	err = j.Work.Close(ctx, err)
	j.Worker.Close()
	if j.scratch != nil {
		if removeErr := j.scratch(); removeErr != nil {
			j.Work.Notes = append(j.Work.Notes, fmt.Sprintf("a temporary directory could not be removed: %v", removeErr))
		}
	}
	for _, note := range j.Work.Notes {
		j.Progress.Note("%s", note)
	}
	return err
}

// Timed runs a part of the job and notes how long it took.
func (j *Job) Timed(ctx context.Context, name string, part func(context.Context) error) error {
	begun := time.Now()
	err := part(ctx)
	j.Seconds[name] = time.Since(begun).Seconds()
	return err
}

// TakeFrequencies has the passes to come know the learned frequencies of a model, if
// it has any.
func (j *Job) TakeFrequencies(model string, m *models.Manifest) error {
	f, ok := m.File(learned.FileName)
	if !ok {
		return nil
	}
	dir, err := storage.Abs(model)
	j.frequencies = &transforms.Frequencies{URI: storage.Join(dir, f.Name), SHA256: f.SHA256}
	return err
}

// Run runs one pipeline.
func (j *Job) Run(ctx context.Context, build func(beam.Scope)) error {
	return j.Engine.Run(ctx, build)
}

// LimitMemory has the collector keep the process within so many bytes, or, if they are
// not known yet and 0, within a quarter more than what is in use.
func (j *Job) LimitMemory(peak int64) {
	if !j.Opts.LimitMemory || !j.Engine.InProcess() {
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
	debug.SetMemoryLimit(max(peak-ProgramBytes*2/3, SlackBytes))
}

// OpenData opens the data of a job.
func OpenData(ctx context.Context, o dataset.Options, log io.Writer) (*dataset.Dataset, error) {
	if len(o.Data) == 0 {
		return nil, exit.Usage("no data: name files with --data")
	}
	if err := o.Validate(); err != nil {
		return nil, &exit.UsageError{Err: err}
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

// NewScratch begins a job that makes no directory: what it keeps is gone when it is
// closed.
func NewScratch(ctx context.Context, o Options) (*Job, error) {
	dir, remove, err := engine.NewTemp(ctx)
	if err != nil {
		return nil, err
	}
	j, err := New(ctx, o, storage.Join(dir, "job"))
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	j.scratch = remove
	return j, nil
}

// Share puts the frequencies into the work directory, where workers find them.
func (j *Job) Share(ctx context.Context, data []byte, sum string) error {
	j.frequencies = &transforms.Frequencies{URI: storage.Join(j.Work.Dir, "frequencies-"+sum[:16]+".safetensors"), SHA256: sum}
	_, err := storage.CreateState(ctx, j.frequencies.URI, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	return err
}

// What the memory of a training follows from. Bytes of a process that trains are
//
//	the program itself and Go's runtime
//	+ the largest of what its passes hold one after the other
//	+ room for the garbage collector, which is told how much it has
//
// and are checked by tests that train with the program, and compare.

const (
	ProgramBytes = 50 << 20 // of the program: its code, tables and Beam's graph
	SlackBytes   = 8 << 20  // of readers, coders and the collector

	ColumnBytes  = 176 // of a column in a profile
	PartialBytes = 80  // of a column in what follows from it: statistics, scalings
	LargestPart  = 9 << 20
)

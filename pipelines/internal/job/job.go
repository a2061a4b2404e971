package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/dataset"
	_ "github.com/bochner-ml/bochner/io/formats"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/transforms"
)

// Options are the options of all jobs over data. None of them changes a result.
type Options struct {
	Engine engine.Engine `group:"Job"`
	Work   string        `flag:"work" placeholder:"DIR" help:"Work directory, new or empty. The default is a hidden directory next to the output. It is removed when the job succeeds."`
	Resume bool          `flag:"resume,common" help:"Continue an interrupted run from its work directory."`
	Log    io.Writer     // progress and notes; nil discards them

	ShardBytes int64 `flag:"shard_bytes,hidden" help:"Size of the shards that plain files are cut into; 0 is 32 MiB. Does not change results."`

	// LimitMemory sets the process's memory limit while the job runs, so that the garbage
	// collector works to the planned memory of a training, unless GOMEMLIMIT is set.
	LimitMemory bool
}

// Shards cuts the data into shards.
func (o Options) Shards(d *dataset.Dataset) []dataset.Shard {
	size := o.ShardBytes
	if size <= 0 {
		size = ShardBytes
	}
	return d.Shards(size)
}

// Job is the state of a running job.
type Job struct {
	Opts      Options
	Engine    engine.Engine
	Work      *WorkDir
	scratch   func() error       // removes the scratch directory at the end; nil for none
	Worker    *transforms.Worker // of the workers in this process
	Progress  *report.Progress
	Seconds   map[string]float64 // wall time by part of the job
	peak      int64              // that LimitMemory was told last
	unlimited int64              // the process's memory limit before the job set one; 0 if it set none
	// bytes that the process had in use before the job set a limit, beyond what a program that has
	// just begun has in use
	held    int64
	percent int // GOGC before the job set it

	// files are those that recipes of the job's passes name, such as learned frequencies.
	files []transforms.File
}

// New begins a job that creates out.
func New(ctx context.Context, o Options, out string) (*Job, error) {
	w, err := OpenWorkDir(ctx, WorkDirOptions{Dir: o.Work, Resume: o.Resume}, out)
	if err != nil {
		return nil, err
	}
	worker := transforms.NewWorker(w.Dir)
	j := &Job{Opts: o, Engine: o.Engine.WithDefaults(), Work: w, Worker: worker, Seconds: map[string]float64{}, peak: -1}
	j.Progress = report.NewProgress(o.Log, worker.Rows)
	j.Progress.Count = o.Engine.LocalWorkers() // the workers count where they are
	j.Engine.Note = j.Progress.Note
	return j, nil
}

// Close ends the job with the error err, to which it may add.
func (j *Job) Close(ctx context.Context, err error) error {
	j.Progress.Done()
	j.LimitMemory(-1)
	err = j.Work.Close(ctx, err)
	j.Worker.Close()
	if j.scratch != nil {
		if removeErr := j.scratch(); removeErr != nil {
			j.Work.Notes = append(j.Work.Notes, fmt.Sprintf("a temporary directory could not be removed: %s",
				transforms.FaultText(removeErr)))
		}
	}
	for _, note := range j.Work.Notes {
		j.Progress.Note("%s", note)
	}
	return err
}

// Timed runs a part of the job and records its time.
func (j *Job) Timed(ctx context.Context, name string, part func(context.Context) error) error {
	begun := time.Now()
	err := part(ctx)
	j.Seconds[name] = time.Since(begun).Seconds()
	return err
}

// TakeFiles shares the files that the recipe of a model names, if any, with later passes.
func (j *Job) TakeFiles(model string, m *models.Manifest) error {
	dir, err := storage.Abs(model)
	for _, name := range features.Files() {
		if f, ok := m.File(name); ok {
			j.take(transforms.File{Name: name, URI: storage.Join(dir, name), SHA256: f.SHA256})
		}
	}
	return err
}

// take makes the file the one of its name.
func (j *Job) take(f transforms.File) {
	j.files = append(slices.DeleteFunc(j.files, func(old transforms.File) bool { return old.Name == f.Name }), f)
}

// Run runs one pipeline.
func (j *Job) Run(ctx context.Context, build func(beam.Scope)) error {
	return j.Engine.Run(ctx, build)
}

// LimitMemory makes the garbage collector keep the process within that many bytes or, if the
// number is not known yet and 0, within a quarter more than what is in use; below 0 it ends that.
// It returns the number before.
func (j *Job) LimitMemory(peak int64) (before int64) {
	before, j.peak = j.peak, peak
	if !j.Opts.LimitMemory || !j.Engine.InProcess() {
		return before
	}
	if j.unlimited == 0 {
		was := debug.SetMemoryLimit(-1)
		if was != math.MaxInt64 {
			return before // the user has set one
		}
		j.unlimited = was
		j.held = max(0, inUse()-ProgramBytes/3)
	}
	limit := j.unlimited
	if peak > 0 {
		// A third of the program is memory of Go, too: without it the collector of a small job
		// would run all the time.
		limit = j.held + max(peak-ProgramBytes*2/3, SlackBytes)
	}
	debug.SetMemoryLimit(limit)
	switch {
	case peak == 0 && j.percent == 0:
		j.percent = debug.SetGCPercent(25)
	case peak != 0 && j.percent != 0:
		debug.SetGCPercent(j.percent)
		j.percent = 0
	}
	return before
}

// inUse is the size in bytes of the objects of the process.
func inUse() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// OpenData opens the data of a job.
func OpenData(ctx context.Context, o dataset.Options, log io.Writer) (*dataset.Dataset, error) {
	if len(o.Data) == 0 {
		return nil, exit.Usage("no data: give files with --data")
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
		if name, size := uncut(d); name != "" {
			fmt.Fprintf(log, "note: %s (%s) has one row group, so it is one shard, which one reader reads: write it with row "+
				"groups of about %s to use more readers\n",
				name, report.Bytes(size), report.Bytes(ShardBytes))
		}
	}
	return d, nil
}

// manyShards is how many shards a file that cannot be cut must be worth to be noted.
const manyShards = 8

// uncut returns the largest file of records that is so large and cannot be cut; "" if there is none.
func uncut(d *dataset.Dataset) (name string, size int64) {
	for i := range d.Files {
		f := &d.Files[i]
		if len(f.Cuts) == 2 && f.Size >= manyShards*ShardBytes && f.Size > size {
			name, size = f.Name, f.Size
		}
	}
	return name, size
}

// NewScratch begins a job that creates no directory: its state is removed when it is closed.
func NewScratch(ctx context.Context, o Options) (*Job, error) {
	dir, remove, err := engine.NewTemp(ctx)
	if err != nil {
		return nil, err
	}
	j, err := New(ctx, o, storage.Join(dir, "job"))
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	j.scratch, j.Work.Temporary = remove, o.Work == ""
	return j, nil
}

// Share writes a file that recipes name (features.Files), with that SHA-256, into the work directory,
// where workers find it. It takes the place of an earlier one of that name.
func (j *Job) Share(ctx context.Context, f storage.File, sum string) error {
	kind, extension, _ := strings.Cut(f.Name, ".")
	uri := storage.Join(j.Work.Dir, kind+"-"+sum[:16]+"."+extension)
	j.take(transforms.File{Name: f.Name, URI: uri, SHA256: sum})
	_, err := storage.CreateState(ctx, uri, func(w io.Writer) error {
		_, err := w.Write(f.Data)
		return err
	})
	return err
}

// ShareFiles shares the given files that recipes name.
func (j *Job) ShareFiles(ctx context.Context, files []storage.File) error {
	for _, f := range files {
		if !slices.Contains(features.Files(), f.Name) {
			continue
		}
		if err := j.Share(ctx, f, models.SumFile(f.Name, f.Data).SHA256); err != nil {
			return err
		}
	}
	return nil
}

// Constants for the memory of a training. Bytes of a process that trains are
//
//	the program itself and Go's runtime
//	+ the largest memory of its passes, which run one after the other
//	+ room for the garbage collector, which is told how much it has
//
// Tests train with the program and compare.
const (
	ProgramBytes = 54 << 20 // of the program: its code, tables and Beam's graph
	SlackBytes   = 8 << 20  // of readers, coders and the collector

	ColumnBytes   = 184     // of a column in a profile
	PartialBytes  = 80      // of a column in what follows from it: statistics, scalings
	DecisionBytes = 40      // of a column, while the kernel and the scalings are chosen
	LargestPart   = 9 << 20 // of a sum, which is computed and stored in parts
)

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
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// Shards cuts the data into shards of o.ShardBytes.
func Shards(o options.Job, d *dataset.Dataset) []dataset.Shard {
	size := o.ShardBytes
	if size <= 0 {
		size = ShardBytes
	}
	return d.Shards(size)
}

// Job is the state of a running job.
type Job struct {
	Options  options.Job
	Engine   engine.Engine
	Work     *WorkDir
	scratch  func() error       // removes the scratch directory at the end; nil if there is none
	Worker   *transforms.Worker // of the workers in this process
	Progress *report.Progress
	Seconds  map[string]float64 // wall time by part of the job
	memory   memoryLimit

	// files are the files that recipes of the job's passes name, such as learned frequencies.
	files []transforms.File
}

// New begins a job that creates the directory out.
func New(ctx context.Context, o options.Job, out string) (*Job, error) {
	w, err := openWorkDir(ctx, o, out)
	if err != nil {
		return nil, err
	}
	worker := transforms.NewWorker(w.Dir)
	j := &Job{Options: o, Engine: o.Engine.WithDefaults(), Work: w, Worker: worker, Seconds: map[string]float64{},
		memory: memoryLimit{peak: -1}}
	j.Progress = report.NewProgress(o.Log, worker.Rows)
	j.Progress.Count = o.Engine.LocalWorkers() // workers elsewhere do not count here
	j.Engine.Note = j.Progress.Notef
	return j, nil
}

// Close ends the job. It returns err, the error of the job, possibly with advice on how to continue.
func (j *Job) Close(ctx context.Context, err error) error {
	j.Progress.Done()
	j.memory.lift()
	err = j.Work.Close(ctx, err)
	j.Worker.Close()
	if j.scratch != nil {
		if removeErr := j.scratch(); removeErr != nil {
			j.Work.Notes = append(j.Work.Notes, fmt.Sprintf("a temporary directory could not be removed: %s",
				fault.Text(removeErr)))
		}
	}
	for _, note := range j.Work.Notes {
		j.Progress.Notef("%s", note)
	}
	return err
}

// Time begins a part of the job. The function that it returns adds the part's time to the seconds of that name.
func (j *Job) Time(name string) (end func()) {
	begun := time.Now()
	return func() { j.Seconds[name] += time.Since(begun).Seconds() }
}

// TakeFiles makes later passes use the files that the recipe of a model names, if any.
func (j *Job) TakeFiles(model string, m *models.Manifest) error {
	dir, err := storage.Abs(model)
	for _, name := range features.FileNames() {
		if f, ok := m.File(name); ok {
			j.setFile(transforms.File{Name: name, URI: storage.Join(dir, name), SHA256: f.SHA256})
		}
	}
	return err
}

// setFile adds a file and removes an earlier one of the same name.
func (j *Job) setFile(f transforms.File) {
	j.files = append(slices.DeleteFunc(j.files, func(old transforms.File) bool { return old.Name == f.Name }), f)
}

// Run runs one pipeline.
func (j *Job) Run(ctx context.Context, build func(beam.Scope)) error {
	return j.Engine.Run(ctx, build)
}

// OpenData opens the data of a job, and notes problems in the log.
func OpenData(ctx context.Context, o dataset.Options, log io.Writer) (*dataset.Dataset, error) {
	if len(o.Files) == 0 {
		return nil, exit.Usagef("--data is missing: name files")
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
		if name, size := uncuttable(d); name != "" {
			fmt.Fprintf(log, "note: %s (%s) has one row group, so it is one shard, which one reader reads: write it with row "+
				"groups of about %s to use more readers\n",
				name, report.Bytes(size), report.Bytes(ShardBytes))
		}
	}
	return d, nil
}

// manyShards is the least size, in shards, of a file that a note names because it cannot be cut.
const manyShards = 8

// uncuttable returns the largest file that has at least the size of manyShards shards and cannot be cut, "" for
// none.
func uncuttable(d *dataset.Dataset) (name string, size int64) {
	for i := range d.Files {
		f := &d.Files[i]
		if len(f.Cuts) == 2 && f.Size >= manyShards*ShardBytes && f.Size > size {
			name, size = f.Name, f.Size
		}
	}
	return name, size
}

// NewScratch begins a job that creates no directory. Close removes its state.
func NewScratch(ctx context.Context, o options.Job) (*Job, error) {
	dir, remove, err := engine.NewTemp(ctx)
	if err != nil {
		return nil, err
	}
	j, err := New(ctx, o, storage.Join(dir, "job"))
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	j.scratch = remove
	j.Work.Temporary = o.Work == ""
	return j, nil
}

// ShareFile writes a file that recipes name (features.FileNames) into the work directory, where workers find it. sum is
// its SHA-256. The file replaces an earlier one of the same name.
func (j *Job) ShareFile(ctx context.Context, f storage.File, sum string) error {
	kind, extension, _ := strings.Cut(f.Name, ".")
	uri := storage.Join(j.Work.Dir, kind+"-"+sum[:16]+"."+extension)
	j.setFile(transforms.File{Name: f.Name, URI: uri, SHA256: sum})
	_, err := storage.CreateState(ctx, uri, func(w io.Writer) error {
		_, err := w.Write(f.Data)
		return err
	})
	return err
}

// ShareFiles shares the given files, except for files that recipes do not name.
func (j *Job) ShareFiles(ctx context.Context, files []storage.File) error {
	for _, f := range files {
		if !slices.Contains(features.FileNames(), f.Name) {
			continue
		}
		if err := j.ShareFile(ctx, f, models.NewFileEntry(f.Name, f.Data).SHA256); err != nil {
			return err
		}
	}
	return nil
}

// Constants for the memory of a training run. The process takes
//
//	the program itself and Go's runtime
//	+ the largest memory of its passes, which run one after the other
//	+ slack for the garbage collector
//
// Tests train with the program and compare.
const (
	ProgramBytes = 54 << 20 // the program itself: its code, tables and Beam's graph
	SlackBytes   = 8 << 20  // readers, coders and the garbage collector

	ColumnBytes   = 184     // a column in a profile
	PartialBytes  = 80      // a column in statistics and scalings
	DecisionBytes = 40      // a column, while kernel and scalings are chosen
	LargestPart   = 9 << 20 // a part of a sum, as it is computed and stored
)

// memoryLimit is the limit on the memory of the process that a job sets.
type memoryLimit struct {
	peak int64 // last argument of LimitMemory; -1 without a limit
	ours bool  // the job may have set the limit of the process
	// heldBefore is the memory in bytes that the process used before the job set a limit, minus what every process
	// uses at its start.
	heldBefore int64
	percent    int // GOGC before the job set it; 0 if it has not
}

// LimitMemory makes the garbage collector keep the process within peak bytes. If peak is 0, for unknown, it
// collects whenever the heap has grown by a quarter. It does nothing unless options.Job.LimitMemory is set, workers are
// in this process, and the user has set no limit.
func (j *Job) LimitMemory(peak int64) {
	l := &j.memory
	l.peak = peak
	if !l.ours && j.Options.LimitMemory && j.Engine.InProcess() && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		l.ours = true
		l.heldBefore = max(0, inUse()-ProgramBytes/3)
	}
	if l.ours {
		l.apply()
	}
}

// WithUnknownMemory calls LimitMemory(0) for a step whose memory depends on the rows. restore returns to the limit
// before the step.
func (j *Job) WithUnknownMemory() (restore func()) {
	before := j.memory.peak
	j.LimitMemory(0)
	return func() {
		if before < 0 {
			j.memory.lift()
		} else {
			j.LimitMemory(before)
		}
	}
}

// apply sets the limit for peak.
func (l *memoryLimit) apply() {
	limit := int64(math.MaxInt64)
	if l.peak > 0 {
		// About a third of ProgramBytes is managed by Go and counts toward the limit. Without it, the collector of a
		// small job would run all the time.
		limit = l.heldBefore + max(l.peak-ProgramBytes*2/3, SlackBytes)
	}
	debug.SetMemoryLimit(limit)
	switch {
	case l.peak > 0:
		l.resetPercent()
	case l.percent == 0:
		l.percent = debug.SetGCPercent(25)
	}
}

// lift restores the original settings of the garbage collector.
func (l *memoryLimit) lift() {
	l.peak = -1
	if l.ours {
		debug.SetMemoryLimit(math.MaxInt64)
		l.resetPercent()
	}
}

// resetPercent restores GOGC if the job has set it.
func (l *memoryLimit) resetPercent() {
	if l.percent != 0 {
		debug.SetGCPercent(l.percent)
		l.percent = 0
	}
}

// inUse returns the size in bytes of the live and dead objects of the process.
func inUse() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

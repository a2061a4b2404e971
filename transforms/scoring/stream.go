package scoring

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[*filesFn]())
	beam.RegisterDoFn(reflect.TypeFor[*listFn]())
}

// Counters of a stream.
var (
	filesDone    = beam.NewCounter(transforms.MetricsNamespace, "files_done")
	filesBad     = beam.NewCounter(transforms.MetricsNamespace, "files_bad")
	filesRetried = beam.NewCounter(transforms.MetricsNamespace, "files_retried")
	filesChanged = beam.NewCounter(transforms.MetricsNamespace, "files_changed")
	filesWaiting = beam.NewGauge(transforms.MetricsNamespace, "files_waiting")
	fileLatency  = beam.NewDistribution(transforms.MetricsNamespace, "file_latency_msec")
)

// Predict predicts the given files, spread over the workers. It returns a FileResult for each, in JSON.
func (f *Files) Predict(s beam.Scope, files []Arrival, threads int) beam.PCollection {
	s = s.Scope("scoring.Files")
	var tasks [][]byte
	for _, a := range files {
		tasks = append(tasks, encoded(a))
	}
	col := beam.CreateList(s, tasks)
	if len(files) > 1 {
		col = beam.Reshuffle(s, col)
	}
	return beam.ParDo(s, f.fn(threads), col)
}

// Arrive predicts files as they appear, until the pipeline is stopped. At each poll it lists the patterns,
// and spreads at most WatchOptions.MaxFiles new files over the workers. It returns a FileResult for each, in JSON.
func (f *Files) Arrive(s beam.Scope, w WatchOptions, threads int) beam.PCollection {
	s = s.Scope("scoring.Arrive")
	fn := f.fn(threads)
	files := beam.ParDo(s, &listFn{Fn: fn.Fn, Spec: fn.Spec, WatchOptions: w}, transforms.Ticks(s, w.Poll, w.Flink))
	return beam.ParDo(s, fn, beam.Reshuffle(s, files))
}

// WatchOptions says how files are found in a pipeline that does not end; see storage.Watch.
type WatchOptions struct {
	Patterns []string
	Poll     time.Duration
	Settle   time.Duration
	MaxAge   time.Duration
	MaxFiles int  // largest number of files of one poll
	Flink    bool // the runner is Flink's
}

func encoded(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("scoring: " + err.Error()) // strings and numbers
	}
	return data
}

func (f *Files) fn(threads int) *filesFn {
	// The name makes all workers in one process share the state of this output directory.
	sc := transforms.Scan{Pass: f.Out + "/stream", Readers: 1, Threads: threads}
	return &filesFn{Fn: transforms.Fn{Scan: sc}, Spec: encoded(f)}
}

// filesFn predicts files.
type filesFn struct {
	transforms.Fn
	Spec   []byte // of a Files
	Repeat bool   // fail the bundle if a file must be tried again, because nothing else would find the file again

	state *filing
}

// filing is the state of a filesFn.
type filing struct {
	files  *Files
	handle *models.Handle
}

// Setup loads the model, unless the process has it.
func (f *filesFn) Setup(ctx context.Context) error {
	f.Fn.Setup()
	files := new(Files)
	if err := json.Unmarshal(f.Spec, files); err != nil {
		return err
	}
	h, err := models.OpenHandle(ctx, files.Model, files.Reload)
	if err != nil {
		return fault.Wrap(fault.Model, err)
	}
	f.state = &filing{files, h}
	return nil
}

// Teardown releases the model.
func (f *filesFn) Teardown() {
	if f.state != nil {
		f.state.handle.Close()
	}
	f.Fn.Teardown()
}

func (f *filesFn) ProcessElement(ctx context.Context, task []byte, emit func([]byte)) error {
	var file Arrival
	if err := json.Unmarshal(task, &file); err != nil {
		return err
	}
	r, err := f.state.files.known(ctx, file)
	if err == nil && !r.Known {
		r, err = f.state.files.do(ctx, transforms.NewReader(f.Fn, 0), f.state.handle.Model(ctx), file)
	}
	if err != nil {
		return fault.Wrap(fault.Internal, err)
	}
	switch {
	case r.Known:
		if r.Changed {
			filesChanged.Inc(ctx, 1)
		}
	case r.Retry != "":
		filesRetried.Inc(ctx, 1)
		if f.Repeat {
			return fault.Wrap(fault.Storage, fmt.Errorf("scoring: %s is to be tried again: %s", file.URI, r.Retry))
		}
	case r.Bad != "":
		filesBad.Inc(ctx, 1)
	default:
		filesDone.Inc(ctx, 1)
	}
	if r.Latency > 0 {
		fileLatency.Update(ctx, r.Latency.Milliseconds())
	}
	emit(encoded(r))
	return nil
}

// recheck is how often a pipeline checks which files are done, to find the files of a lost worker
// again.
const recheck = 2 * time.Minute

type watched struct {
	sync.Mutex
	storage.Watch
}

// listFn lists the patterns and emits what is new.
type listFn struct {
	transforms.Fn
	Spec []byte // of a Files
	WatchOptions

	watched *watched
}

// Setup finds the watch, which goes on where an earlier listFn of the job in this process has stopped.
func (f *listFn) Setup() (err error) {
	f.Fn.Setup()
	files := new(Files)
	if err := json.Unmarshal(f.Spec, files); err != nil {
		return err
	}
	key := string(f.Spec) + string(encoded(f.WatchOptions))
	f.watched, err = transforms.Cached(f.Worker, 8, key, func() (*watched, error) {
		return &watched{Watch: storage.Watch{Patterns: f.Patterns, Settle: f.Settle, MaxAge: f.MaxAge, Done: files.Done,
			Recheck: recheck}}, nil
	})
	return err
}

func (f *listFn) ProcessElement(ctx context.Context, _ []byte, emit func([]byte)) error {
	f.watched.Lock()
	defer f.watched.Unlock()
	arrived, err := f.watched.Next(ctx, f.MaxFiles)
	if err != nil {
		return fault.Wrap(fault.Internal, err)
	}
	for _, note := range arrived.Notes {
		log.Warn(ctx, note)
	}
	filesChanged.Inc(ctx, int64(arrived.Changed))
	filesWaiting.Set(ctx, int64(arrived.Waiting))
	for _, file := range arrived.Files {
		emit(encoded(ArrivalOf(file)))
	}
	return nil
}

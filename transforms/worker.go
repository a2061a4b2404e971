package transforms

import (
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
)

// Worker is what the DoFns of one job share in one process: loaded passes and drawn maps,
// cached features, and metrics. Jobs that run in one process at the same time have separate
// workers, so that neither their caches nor their metrics mix.
//
// A job is identified by the work directory that its pass files are in.
type Worker struct {
	job    string
	totals totals
	ahead  atomic.Int64 // rows that are done in blocks that are not

	mu     sync.Mutex
	shared map[reflect.Type]any

	// Guarded by the lock of workers below.
	users  int  // DoFns that are set up
	driven bool // the job's driver is in this process, and closes the worker
}

// workers are the workers of this process, by job.
var workers = struct {
	sync.Mutex
	byJob map[string]*Worker
}{byJob: map[string]*Worker{}}

// NewWorker returns the worker of a job whose driver is in this process and whose pass
// files are in the directory. DoFns in this process share it until it is closed.
func NewWorker(dir string) *Worker {
	w := worker(jobOf(strings.TrimRight(dir, "/") + "/"))
	workers.Lock()
	defer workers.Unlock()
	w.driven = true
	return w
}

// Close frees the memory of the worker once no DoFn of its job runs any more.
func (w *Worker) Close() {
	workers.Lock()
	defer workers.Unlock()
	if workers.byJob[w.job] == w {
		delete(workers.byJob, w.job)
	}
}

// jobOf returns the job of a pass file: the directory that holds it.
func jobOf(pass string) string { return pass[:strings.LastIndexByte(pass, '/')+1] }

// worker returns the worker of a job, and creates it if there is none.
func worker(job string) *Worker {
	workers.Lock()
	defer workers.Unlock()
	w := workers.byJob[job]
	if w == nil {
		// A process without a driver does not learn when a job ends. So the worker of an
		// earlier job is freed when another job begins.
		for name, old := range workers.byJob {
			if old.users == 0 && !old.driven {
				delete(workers.byJob, name)
			}
		}
		w = &Worker{job: job, shared: map[reflect.Type]any{}}
		workers.byJob[job] = w
	}
	return w
}

// Shared returns the value of type T that all DoFns of a job share in this process. It creates
// the value on first use.
func Shared[T any](w *Worker, make func() *T) *T {
	w.mu.Lock()
	defer w.mu.Unlock()
	kind := reflect.TypeFor[T]()
	v, ok := w.shared[kind].(*T)
	if !ok {
		v = make()
		w.shared[kind] = v
	}
	return v
}

// Fn is embedded in every DoFn of a pass: what it reads, and the worker it belongs to.
type Fn struct {
	Scan   Scan
	Worker *Worker `json:"-"` // from Setup on
}

// Setup finds the worker. In the direct runner several edges of a graph may share one DoFn, and
// each calls Setup.
func (f *Fn) Setup() {
	f.Worker = worker(jobOf(f.Scan.Pass))
	f.Worker.use(1)
}

// Teardown releases the worker after the last element.
func (f *Fn) Teardown() { f.Worker.use(-1) }

func (w *Worker) use(n int) {
	workers.Lock()
	defer workers.Unlock()
	w.users += n
}

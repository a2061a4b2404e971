package transforms

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/transforms/fault"
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
	caches map[any]any // by type and size

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
	return worker(jobOf(strings.TrimRight(dir, "/")+"/"), func(w *Worker) { w.driven = true })
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

// worker returns the worker of a job, and creates it if there is none. take is called with it before another
// job can free it.
func worker(job string, take func(*Worker)) *Worker {
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
		w = &Worker{job: job}
		workers.byJob[job] = w
	}
	take(w)
	return w
}

// Cached returns the value of a name, of which all DoFns of a job share one copy in this process. It loads the
// value unless it is one of the last size values of type T; types and sizes have separate caches. The value of a
// name must never change. Of several concurrent callers, one loads the value while the others wait. All of them
// get its error or panic, which is not cached.
func Cached[T any](w *Worker, size int, name string, load func() (T, error)) (T, error) {
	type key struct {
		kind reflect.Type
		size int
	}
	k := key{reflect.TypeFor[T](), size}
	w.mu.Lock()
	c, ok := w.caches[k].(*cache[T])
	if !ok {
		c = &cache[T]{size: size}
		if w.caches == nil {
			w.caches = map[any]any{}
		}
		w.caches[k] = c
	}
	w.mu.Unlock()
	return c.get(name, load)
}

// Fn is embedded in every DoFn of a pass: what it reads, and the worker it belongs to.
type Fn struct {
	Scan   Scan
	Worker *Worker `json:"-"` // from Setup on
}

// Setup finds the worker. In the direct runner several edges of a graph may share one DoFn, and
// each calls Setup.
func (f *Fn) Setup() {
	f.Worker = worker(jobOf(f.Scan.Pass), func(w *Worker) { w.users++ })
}

// Teardown releases the worker after the last element.
func (f *Fn) Teardown() {
	workers.Lock()
	defer workers.Unlock()
	f.Worker.users--
}

// cache holds the most recently used values of Cached.
type cache[T any] struct {
	size int // largest number of values

	mu      sync.Mutex
	entries []*entry[T] // at most size, least recently used first
}

type entry[T any] struct {
	name  string
	value func() (T, error) // loads the value on the first call
}

func (c *cache[T]) get(name string, load func() (T, error)) (T, error) {
	e := c.entry(name, load)
	ok := false
	defer func() {
		if !ok {
			c.drop(e)
		}
	}()
	value, err := e.value()
	ok = err == nil
	return value, err
}

// entry returns the entry of that name, and creates it if there is none.
func (c *cache[T]) entry(name string, load func() (T, error)) *entry[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.entries, func(e *entry[T]) bool { return e.name == name })
	var e *entry[T]
	if i >= 0 {
		e = c.entries[i]
		c.entries = slices.Delete(c.entries, i, i+1)
	} else {
		e = &entry[T]{name, sync.OnceValues(load)}
	}
	if len(c.entries) == c.size {
		c.entries = slices.Delete(c.entries, 0, 1)
	}
	c.entries = append(c.entries, e)
	return e
}

func (c *cache[T]) drop(e *entry[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.entries, e); i >= 0 {
		c.entries = slices.Delete(c.entries, i, i+1)
	}
}

// Map returns the map of a sealed recipe, drawn once in a job and process. A pass has one, or two if rows are changed
// at random.
func (w *Worker) Map(s features.Sealed) (features.Map, error) {
	name, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return Cached(w, 2, string(name), func() (features.Map, error) {
		r, err := s.Open()
		if err != nil {
			return nil, err
		}
		m, err := r.New()
		return m, fault.Wrap(fault.Data, err)
	})
}

// Gridded returns the map of a sealed recipe whose features have a bound.
func (w *Worker) Gridded(s features.Sealed) (features.Gridded, error) {
	m, err := w.Map(s)
	if err != nil {
		return nil, err
	}
	g, ok := m.(features.Gridded)
	if !ok {
		return nil, fmt.Errorf("transforms: features of %s have no bound and cannot be rounded to a grid", s.Kind)
	}
	return g, nil
}

// Apply stores the features of n rows of x in phi, growing it as needed. The threads of Scan
// share the rows; the number of threads does not change the features.
func (t Task) Apply(m features.Map, phi, x []float32, n int) []float32 {
	defer t.Clock(MapTime)()
	in, out := m.Dims()
	phi = GrowFeatures(phi, n*out)
	threads := max(1, min(t.Scan.Threads, n))
	var wg parallel.Group
	for i := range threads {
		lo, hi := i*n/threads, (i+1)*n/threads
		wg.Go(func() { m.Apply(phi[lo*out:], x[lo*in:], hi-lo) })
	}
	wg.Wait()
	return phi
}

// Parallel calls do for all items, up to limit of them at a time, and at least one. It returns the first error, which
// ends the context of the others and starts no more. A panic is an error, as of fault.Guard.
func Parallel[T any](ctx context.Context, limit int, items []T, do func(ctx context.Context, i int, item T) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, limit))
	for i, item := range items {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return fault.Guard(func() error { return do(ctx, i, item) })
		})
	}
	return g.Wait()
}

// GrowFeatures returns a slice of n features: phi if it is large enough, otherwise new memory
// from blas.Make.
func GrowFeatures(phi []float32, n int) []float32 {
	if cap(phi) < n {
		return blas.Make[float32](n)
	}
	return phi[:n]
}

// TargetEncoder returns the target encoder that changes training rows before the map of the recipe; nil if
// the recipe has none.
func TargetEncoder(recipe features.Sealed) (*preprocess.TargetEncoder, error) {
	r, err := recipe.Open()
	if err != nil {
		return nil, err
	}
	return preprocess.TargetEncoderOf(r), nil
}

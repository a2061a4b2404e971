package models

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"golang.org/x/sync/semaphore"
)

// Handle gives access to a model that may be replaced while it is used. It is safe for concurrent use.
type Handle struct {
	s     *shared
	ttl   time.Duration // of a lookup; 0 if there are no further ones
	close sync.Once
}

// HandleStats counts the lookups of a name in this process since its first handle was opened.
type HandleStats struct {
	Checks   int64 // number of lookups
	Swaps    int64 // how often another model replaced the one in use
	Failures int64 // lookups that found no usable model and kept the old one
	// Err is the error of the last lookup; nil if it succeeded.
	Err error
}

// shared is the state that all handles of this process on one name share.
type shared struct {
	key   string // in open.byName
	name  string // a directory or an alias
	users int    // number of handles; guarded by open

	model  atomic.Pointer[Model]
	looked atomic.Int64 // time of the end of the last lookup, in Unix nanoseconds

	// looking is held during a lookup. It guards:
	looking *semaphore.Weighted
	first   *Model // with which replaceable compares others
	unfit   string // digest of the last model that could not replace first
	unfitBy error  // the reason
	logged  string // the last error that was logged

	mu    sync.Mutex
	stats HandleStats
}

// open holds the names that this process has open.
var open = struct {
	sync.Mutex
	byName map[string]*shared
}{byName: map[string]*shared{}}

// clock returns the time. Tests replace it.
var clock = time.Now

// OpenHandle loads the model of a directory or alias, unless a handle of this process has it open or is
// loading it, for which it waits. Handle.Model looks the name up again when ttl has passed since the last
// lookup by any handle; with 0 it never does. Errors are as from LoadURI, or the context's.
func OpenHandle(ctx context.Context, name string, ttl time.Duration) (*Handle, error) {
	s, err := share(name)
	if err != nil {
		return nil, err
	}
	h := &Handle{s: s, ttl: ttl}
	if err := s.looking.Acquire(ctx, 1); err != nil { // one handle loads while others wait
		h.Close()
		return nil, fmt.Errorf("models: open %s: %w", name, err)
	}
	defer s.looking.Release(1)
	if s.first == nil {
		if _, err := s.look(ctx); err != nil {
			h.Close()
			return nil, err
		}
		s.first = s.model.Load()
		s.count(func(t *HandleStats) { t.Checks++ })
	}
	return h, nil
}

// share returns the shared state of a name, and counts one more handle.
func share(name string) (*shared, error) {
	dir, alias, ok := SplitAlias(name)
	key, err := storage.Abs(dir)
	if err != nil {
		return nil, err
	}
	key += "/"
	if ok { // a directory may be named like an alias
		key += "@" + alias
	}
	open.Lock()
	defer open.Unlock()
	s := open.byName[key]
	if s == nil {
		s = &shared{key: key, name: name, looking: semaphore.NewWeighted(1)}
		open.byName[key] = s
	}
	s.users++
	return s, nil
}

// Close releases the handle. The model is freed after its last use, when no handle on its name is open.
func (h *Handle) Close() {
	h.close.Do(func() {
		open.Lock()
		defer open.Unlock()
		h.s.users--
		if h.s.users == 0 {
			delete(open.byName, h.s.key)
		}
	})
}

// Model returns the model in use, after a lookup of its name if that is due. One of several callers does
// the lookup and loads a new model; the others get the present one at once. Everything that is computed
// with the result is by one model, with digest Manifest.SHA256. So call Model once for rows that belong
// together, and again for the next.
func (h *Handle) Model(ctx context.Context) *Model {
	if h.due() && h.s.looking.TryAcquire(1) {
		if h.due() { // no other caller has done it meanwhile
			_, _ = h.s.refresh(ctx) // logged and counted there
		}
		h.s.looking.Release(1)
	}
	return h.s.model.Load()
}

// due reports whether ttl has passed since the last lookup.
func (h *Handle) due() bool {
	return h.ttl > 0 && clock().UnixNano()-h.s.looked.Load() >= int64(h.ttl)
}

// Refresh looks the name up now. It reports whether another model replaced the one in use. If the model of
// the name cannot be loaded, it returns the reason, and the one in use stays.
func (h *Handle) Refresh(ctx context.Context) (swapped bool, err error) {
	if err := h.s.looking.Acquire(ctx, 1); err != nil {
		return false, err
	}
	defer h.s.looking.Release(1)
	return h.s.refresh(ctx)
}

// Stats returns the counts so far.
func (h *Handle) Stats() HandleStats {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	return h.s.stats
}

func (s *shared) count(change func(*HandleStats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.stats)
}

// refresh looks the name up, counts that, and logs changes. The caller holds looking.
func (s *shared) refresh(ctx context.Context) (swapped bool, err error) {
	before := s.model.Load().Manifest.SHA256
	swapped, err = s.look(ctx)
	if err != nil && ctx.Err() != nil {
		return false, err // the caller has given up, the next one looks
	}
	s.count(func(t *HandleStats) {
		t.Checks++
		t.Err = err
		if err != nil {
			t.Failures++
		}
		if swapped {
			t.Swaps++
		}
	})
	switch {
	case err == nil:
		s.logged = ""
		if swapped {
			slog.InfoContext(ctx, "models: another model is in use", "name", s.name, "digest", s.model.Load().Manifest.SHA256,
				"before", before)
		}
	case err.Error() != s.logged:
		s.logged = err.Error()
		slog.WarnContext(ctx, "models: keeping the present model; the new one cannot be used", "name", s.name, "digest",
			before, "cause", s.logged)
	}
	return swapped, err
}

// look looks the name up and loads the model if it is not in use. The caller holds looking.
func (s *shared) look(ctx context.Context) (swapped bool, err error) {
	defer func() {
		if ctx.Err() == nil {
			s.looked.Store(clock().UnixNano()) // do not repeat a failed lookup at once
		}
	}()
	dir, err := Resolve(ctx, s.name)
	if err != nil {
		return false, err
	}
	if s.first == nil {
		m, err := LoadURI(ctx, dir)
		s.model.Store(m)
		return false, err
	}
	manifest, err := ReadManifest(ctx, dir)
	switch {
	case err != nil || manifest.SHA256 == s.model.Load().Manifest.SHA256:
		return false, err
	case manifest.SHA256 == s.unfit: // it was loaded and refused before
		return false, s.unfitBy
	}
	m, err := LoadURI(ctx, dir)
	if err != nil {
		return false, err
	}
	if err := replaceable(s.first, m); err != nil {
		s.unfit, s.unfitBy = m.Manifest.SHA256, NewError(dir, err)
		return false, s.unfitBy
	}
	s.model.Store(m)
	return true, nil
}

// errOther means that a model cannot replace another.
var errOther = errors.New("the model is for other rows than the one that was opened")

func otherf(format string, a ...any) error {
	return fmt.Errorf("%w: %s; it is not used", errOther, fmt.Sprintf(format, a...))
}

// replaceable returns an error unless m can replace the first model that a handle opened: m gets the same
// rows, and readers expect the same kind of predictions.
//
// It must have the same task. A regression or embedding must have outputs of the same names, because each
// is a column. Classes may differ, because scores and probabilities carry their names. Probabilities may be
// added. Columns are matched by name: m may use fewer columns than the first, and have other levels and
// missing codes. But a column that the first lacks, or has with another type, may be missing from the rows.
// Without names rows must have the same length.
func replaceable(first, m *Model) error {
	if a, b := first.Manifest.Task, m.Manifest.Task; a != b {
		return otherf("it is for %s, and not for %s", b, a)
	}
	if a, b := first.Outputs(), m.Outputs(); !m.Classifies() && !slices.Equal(a, b) {
		return otherf("it predicts %.80q, and not %.80q", b, a)
	}
	if first.Manifest.Probabilities != nil && m.Manifest.Probabilities == nil {
		return otherf("it has no probabilities")
	}
	had, has := columns(first), columns(m)
	if len(had) == 0 || len(has) == 0 {
		if a, b := first.Manifest.Input.Dim, m.Manifest.Input.Dim; a != b || len(had) != len(has) {
			return otherf("its rows have %d numbers, named %v; the first model's have %d, named %v", b, len(has) > 0, a,
				len(had) > 0)
		}
		return nil
	}
	for name, kind := range has {
		before, ok := had[name]
		if !ok {
			return otherf("it needs the column %.80q, which rows need not have", name)
		}
		if before != kind {
			return otherf("its column %.80q is of the type %s, and not %s", name, kind, before)
		}
	}
	return nil
}

// columns returns the named columns of a model with their types.
func columns(m *Model) map[string]schema.Type {
	types := map[string]schema.Type{}
	if t := m.Table(); t != nil {
		for i := range t.Columns {
			types[t.Columns[i].Name] = t.Columns[i].Type
		}
		return types
	}
	for _, name := range m.Manifest.Input.Columns {
		types[name] = schema.Number
	}
	return types
}

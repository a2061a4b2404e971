package models

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bochner-ml/bochner/io/storage"
)

// Handle gives access to a model that may be replaced. It is safe for concurrent use.
type Handle struct {
	s     *shared
	every time.Duration
	close sync.Once
}

// HandleStats counts what a process has seen of a name since its first handle was opened.
type HandleStats struct {
	Checks   int64 // how often the name was looked up
	Swaps    int64 // models that took the place of another
	Failures int64 // lookups that kept the model because there was no good one in its place
	// Err is the reason of the last lookup if that failed; nil after a good one.
	Err error
}

// shared is what the handles of a process on one name share.
type shared struct {
	key   string // in open
	name  string // a directory or an alias
	users int    // handles; guarded by the lock of open

	model  atomic.Pointer[Model]
	looked atomic.Int64 // when the last lookup ended, in nanoseconds since 1970

	// looking is held by the one that looks the name up. It guards:
	looking sync.Mutex
	first   *Model // which Fits compares others with
	unfit   string // digest of the last model that does not fit
	why     error  // it does not
	told    string // the cause that was logged last

	mu    sync.Mutex
	stats HandleStats
}

// open holds what this process has open, by name.
var open = struct {
	sync.Mutex
	byName map[string]*shared
}{byName: map[string]*shared{}}

// clock is the time, which tests replace.
var clock = time.Now

// OpenLive loads the model of a directory or alias, unless a handle of this process has it. Model looks
// the name up again when ttl has passed since the last time, with whichever handle; 0 is never. The
// error is as of models.LoadURI.
func OpenLive(ctx context.Context, name string, ttl time.Duration) (*Handle, error) {
	s, err := share(name)
	if err != nil {
		return nil, err
	}
	h := &Handle{s: s, every: ttl}
	s.looking.Lock() // so that one handle loads while others wait
	defer s.looking.Unlock()
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

// share returns what the handles on a name share, and counts one more.
func share(name string) (*shared, error) {
	dir, alias, ok := SplitAlias(name)
	key, err := storage.Abs(dir)
	if err != nil {
		return nil, err
	}
	if key += "/"; ok { // a directory may have a name like an alias
		key += "@" + alias
	}
	open.Lock()
	defer open.Unlock()
	s := open.byName[key]
	if s == nil {
		s = &shared{key: key, name: name}
		open.byName[key] = s
	}
	s.users++
	return s, nil
}

// Close releases the handle. The model is freed with the last handle on its name and the last use.
func (h *Handle) Close() {
	h.close.Do(func() {
		open.Lock()
		defer open.Unlock()
		if h.s.users--; h.s.users == 0 {
			delete(open.byName, h.s.key)
		}
	})
}

// Model returns the model in use, after a lookup of its name if that is due. Of several callers one
// does the lookup, and loads the model if there is another; the others get the present one at once.
// All that a caller does with the result is done by one model, whose digest is Manifest.SHA256. So
// it asks once for rows that belong together, and again for the next.
func (h *Handle) Model(ctx context.Context) *Model {
	if h.due() && h.s.looking.TryLock() {
		if h.due() { // no other caller has done it since
			_, _ = h.s.refresh(ctx) // which logs and counts
		}
		h.s.looking.Unlock()
	}
	return h.s.model.Load()
}

// due reports whether the time to live of the last lookup has passed.
func (h *Handle) due() bool {
	return h.every > 0 && clock().UnixNano()-h.s.looked.Load() >= int64(h.every)
}

// Refresh looks the name up now. It reports whether another model took the place of the one in use,
// or why that stays although it is not the one that the name stands for.
func (h *Handle) Refresh(ctx context.Context) (swapped bool, err error) {
	h.s.looking.Lock()
	defer h.s.looking.Unlock()
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

// refresh looks the name up, counts, and logs what is new. The caller holds looking.
func (s *shared) refresh(ctx context.Context) (swapped bool, err error) {
	before := s.model.Load().Manifest.SHA256
	swapped, err = s.look(ctx)
	if err != nil && ctx.Err() != nil {
		return false, err // the caller has given up; the next one looks
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
		s.told = ""
		if swapped {
			slog.InfoContext(ctx, "live: another model is in use", "name", s.name, "digest", s.model.Load().Manifest.SHA256,
				"before", before)
		}
	case err.Error() != s.told:
		s.told = err.Error()
		slog.WarnContext(ctx, "live: keeping the present model; the new one cannot be used", "name", s.name, "digest",
			before, "cause", s.told)
	}
	return swapped, err
}

// look looks the name up, and loads the model unless it is in use. The caller holds looking.
func (s *shared) look(ctx context.Context) (swapped bool, err error) {
	defer func() {
		if ctx.Err() == nil {
			s.looked.Store(clock().UnixNano()) // one that failed is not repeated at once either
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
	case err != nil:
		return false, err
	case manifest.SHA256 == s.model.Load().Manifest.SHA256:
		return false, nil
	case manifest.SHA256 == s.unfit: // no need to load it again
		return false, s.why
	}
	m, err := LoadURI(ctx, dir)
	if err != nil {
		return false, err
	}
	if err := Replaceable(s.first, m); err != nil {
		s.unfit, s.why = m.Manifest.SHA256, Bad(dir, err)
		return false, s.why
	}
	s.model.Store(m)
	return true, nil
}

// errOther is why a model cannot follow another.
var errOther = errors.New("the model is for other rows than the one that was opened")

func other(format string, a ...any) error {
	return fmt.Errorf("%w: %s; it is not used", errOther, fmt.Sprintf(format, a...))
}

package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/storage/objects"
)

// never has leases of which only their renewal and their owners tell anything.
func never() { cloud.Leases.Stale = time.Hour }

// until waits for something to be so.
func until(t *testing.T, so func() bool) {
	t.Helper()
	for !so() {
		if t.Context().Err() != nil {
			t.Fatal(t.Context().Err())
		}
		time.Sleep(time.Millisecond)
	}
}

func TestObjectLockIsHeldOnce(t *testing.T) {
	s := server(t)
	never()
	name := bucket + "work/lock"
	unlock, err := storage.Lock(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	written := s.Requests("write")
	until(t, func() bool { return s.Requests("write") >= written+3 }) // it is renewed
	_, err = storage.Lock(ctx, name)
	var e *storage.Error
	if !errors.As(err, &e) || !e.Refused() || !errors.Is(err, storage.ErrBusy) ||
		!strings.Contains(err.Error(), "in use by another run, process ") {
		t.Errorf("a second lock: %v", err)
	}
	unlock()
	if s.Content("work/lock") == nil {
		t.Error("the object of the lock went with it; a work directory is known by it")
	}
	unlock, err = storage.Lock(ctx, name) // or it waits for an hour
	if err != nil {
		t.Fatalf("after it was given back: %v", err)
	}
	// A job removes its work directory, lock and all.
	if err := storage.Remove(ctx, bucket+"work"); err != nil {
		t.Fatal(err)
	}
	written = s.Requests("write")
	until(t, func() bool { return s.Requests("write") > written })
	unlock()
	if got := s.Names(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

func TestObjectLockExcludesOthers(t *testing.T) {
	server(t)
	never()
	var inside, times atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				unlock, err := storage.Lock(ctx, bucket+"lock")
				if errors.Is(err, storage.ErrBusy) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) > 1 {
					t.Error("two hold the lock")
				}
				times.Add(1)
				runtime.Gosched()
				inside.Add(-1)
				unlock()
			}
		})
	}
	wg.Wait()
	if times.Load() < 4 {
		t.Errorf("the lock was had %d times", times.Load())
	}
}

func TestAbandonedLeaseIsTakenOver(t *testing.T) {
	server(t)
	leave := func(by disk.Process) {
		t.Helper()
		text, _ := json.Marshal(by)
		o, _ := objects.Parse(bucket + "lock")
		if _, err := cloud.Put(ctx, o, objects.Condition{}, map[string]string{objects.OwnerKey: string(text)}, 0,
			func(io.Writer) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	ended, again := disk.Me(), disk.Me()
	ended.ID = dead(t)
	again.Begun += "0" // a process of the same number, another time
	for what, c := range map[string]struct {
		by    disk.Process
		waits bool
	}{
		"an ended process": {ended, false}, "a number used again": {again, false},
		"this process": {disk.Me(), true}, "another system": {disk.Process{Host: "elsewhere", ID: 1, Boot: "other"},
			true}, "who knows": {disk.Process{}, true},
	} {
		leave(c.by)
		begun := time.Now()
		cloud.Leases.Stale = time.Hour
		if c.waits {
			cloud.Leases.Stale = 100 * time.Millisecond
		}
		unlock, err := storage.Lock(ctx, bucket+"lock")
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		unlock()
		if waited := time.Since(begun); c.waits && waited < cloud.Leases.Stale {
			t.Errorf("%s: waited %v", what, waited)
		}
	}
}

// interrupts cancels a context when the server has served a first write, whose client does not hear of it.
type interrupts struct {
	base   http.RoundTripper
	cancel context.CancelFunc
	done   atomic.Bool
}

func (i *interrupts) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost || !i.done.CompareAndSwap(false, true) {
		return i.base.RoundTrip(r)
	}
	res, err := i.base.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return nil, err
	}
	i.cancel()
	return nil, context.Canceled
}

// A lease is free after the request for it was interrupted, although the server may have served that request.
func TestLeaseIsFreeAfterAnInterruptedRequest(t *testing.T) {
	server(t)
	never()
	for _, before := range []string{"nothing", "a released lease"} {
		interrupted, cancel := context.WithCancel(ctx)
		through(t, func(base http.RoundTripper) http.RoundTripper { return &interrupts{base: base, cancel: cancel} })
		if unlock, err := storage.Lock(interrupted, bucket+"lock"); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", before, err)
			unlock()
		}
		unlock, err := storage.Lock(ctx, bucket+"lock") // or it waits for an hour
		if err != nil {
			t.Fatal(err)
		}
		unlock()
	}
}

// The object that an interrupted request may have left is removed, but not the lease that another process took
// in the meantime: before the lease is released, or before it is deleted.
func TestInterruptedRequestKeepsTheLeaseOfAnother(t *testing.T) {
	s := server(t)
	never()
	for _, window := range []string{"write", "delete"} {
		if err := storage.Remove(ctx, bucket+"lock"); err != nil {
			t.Fatal(err)
		}
		interrupted, cancel := context.WithCancel(ctx)
		through(t, func(base http.RoundTripper) http.RoundTripper { return &interrupts{base: base, cancel: cancel} })
		taken := false
		s.Faults.Before(func(kind, _ string) {
			if interrupted.Err() != nil && kind == window && !taken {
				taken = true
				s.Fill("lock", []byte("another's"))
			}
		})
		if _, err := storage.Lock(interrupted, bucket+"lock"); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", window, err)
		}
		s.Faults.Before(nil)
		if !taken || string(s.Content("lock")) != "another's" {
			t.Errorf("taken before the %s: %t, %q is left", window, taken, s.Content("lock"))
		}
	}
}

// A process that has lost a lease does not write to it again.
func TestLostLeaseIsNotRenewed(t *testing.T) {
	s := server(t)
	o, _ := objects.Parse(bucket + "lock")
	l, err := cloud.Acquire(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	s.Fill("lock", []byte("another's"))
	if err := l.Touch(ctx); !errors.Is(err, objects.ErrUnmet) {
		t.Errorf("renewed: %v", err)
	}
	<-l.Ended()
	if _, err := l.Seal(ctx, storage.File{}); !errors.Is(err, objects.ErrUnmet) {
		t.Errorf("sealed: %v", err)
	}
	if err := errors.Join(l.Release(ctx), l.Drop(ctx)); !errors.Is(err, objects.ErrUnmet) ||
		string(s.Content("lock")) != "another's" {
		t.Errorf("given back: %v, %q", err, s.Content("lock"))
	}
}

package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	gcstorage "cloud.google.com/go/storage"

	"github.com/bochner-ml/bochner/internal/owner"
	"github.com/bochner-ml/bochner/io/storage"
)

// leaseTimes says how often a lease is renewed, and after how long without that
// it is anybody's.
type leaseTimes struct{ renew, stale time.Duration }

// lease is an object that one process holds. It writes a new generation of it from
// time to time, always under the condition that the one before is its own: so
// whoever else writes it has taken the lease, and the holder finds out with the
// next write. How late that is does no harm where what the lease guards depends on
// its generation, as publish does.
//
// Whether a lease is stale is told by watching it, not by the clocks of machines.
type lease struct {
	g      *gcs
	object object
	owner  string // this process and lease, in JSON

	mu         sync.Mutex
	generation int64
	stop       context.CancelFunc
	ended      chan struct{} // closed when nothing is renewed any more
}

// acquire takes a lease. One that its owner has given back, or who is gone, is
// taken at once; another one is watched until it is given back, or stale, or
// renewed, which is storage.ErrBusy. An error of check, which is called before each try,
// ends the wait.
func (g *gcs) acquire(ctx context.Context, o object, check func() error) (*lease, error) {
	for {
		if err := check(); err != nil {
			return nil, err
		}
		cond, err := g.watch(ctx, o)
		if err != nil {
			return nil, err
		}
		l := &lease{g: g, object: o, ended: make(chan struct{})}
		by := owner.Me()
		by.Lease = random()
		text, err := json.Marshal(by)
		if err != nil {
			return nil, err
		}
		l.owner = string(text)
		err = l.write(ctx, *cond)
		if errors.Is(err, errUnmet) {
			continue // somebody else was faster
		}
		if err != nil {
			return nil, err
		}
		var renewing context.Context
		renewing, l.stop = context.WithCancel(context.WithoutCancel(ctx))
		go l.renew(renewing)
		return l, nil
	}
}

// watch waits until a lease may be taken, and returns the condition for that.
func (g *gcs) watch(ctx context.Context, o object) (*gcstorage.Conditions, error) {
	var first int64
	since := time.Now()
	for {
		a, err := g.attrs(ctx, o)
		if missing(err) {
			return &gcstorage.Conditions{DoesNotExist: true}, nil
		}
		if err != nil {
			return nil, err
		}
		var by owner.Process
		held := json.Unmarshal([]byte(a.Metadata[ownerKey]), &by) == nil
		switch {
		case !held, by.Gone():
			return &gcstorage.Conditions{GenerationMatch: a.Generation}, nil
		case first != 0 && first != a.Generation: // however long the watcher itself was stopped
			return nil, storage.Busy(by.ID, by.Host)
		case time.Since(since) > g.leases.stale:
			return &gcstorage.Conditions{GenerationMatch: a.Generation}, nil
		}
		first = a.Generation
		if err := sleep(ctx, g.leases.renew/8); err != nil {
			return nil, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write writes a generation of the lease.
func (l *lease) write(ctx context.Context, cond gcstorage.Conditions) error {
	return l.put(ctx, cond, l.owner, int64(len(l.owner)), func(w io.Writer) error {
		_, err := io.WriteString(w, l.owner)
		return err
	})
}

func (l *lease) put(ctx context.Context, cond gcstorage.Conditions, owner string, size int64, write func(io.Writer) error) error {
	for {
		a, err := l.g.upload(ctx, l.object, &cond, map[string]string{ownerKey: owner}, size, write)
		if err == nil {
			l.generation = a.Generation
			return nil
		}
		if !errors.Is(err, errUnmet) || cond.DoesNotExist {
			return err
		}
		// A write that was given up may have been made after all.
		last, thereErr := l.g.attrs(ctx, l.object)
		if thereErr != nil || last.Metadata[ownerKey] != l.owner || last.Generation == cond.GenerationMatch {
			return err
		}
		cond.GenerationMatch = last.Generation
	}
}

// renew renews the lease until the context ends or it is lost.
func (l *lease) renew(ctx context.Context) {
	defer close(l.ended)
	for sleep(ctx, l.g.leases.renew) == nil {
		if err := l.touch(ctx); errors.Is(err, errUnmet) {
			return
		}
		// Another error is that of a bad connection; who wants the lease may take it
		// when that lasts.
	}
}

// touch writes a new generation. It is errUnmet if the lease is lost.
func (l *lease) touch(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(ctx, gcstorage.Conditions{GenerationMatch: l.generation})
}

// hold ends renewing. The lease stays.
func (l *lease) hold() {
	l.stop()
	<-l.ended
}

// seal makes what write writes the content of the lease, which is not renewed any
// more. It returns the generation. It is errUnmet if the lease is lost.
func (l *lease) seal(ctx context.Context, size int64, write func(io.Writer) error) (int64, error) {
	l.hold()
	err := l.put(ctx, gcstorage.Conditions{GenerationMatch: l.generation}, l.owner, size, write)
	return l.generation, err
}

// release gives the lease back and leaves its object.
func (l *lease) release(ctx context.Context) error {
	l.hold()
	return l.put(ctx, gcstorage.Conditions{GenerationMatch: l.generation}, "", 0, func(io.Writer) error { return nil })
}

// drop gives the lease back and deletes its object, unless it is lost.
func (l *lease) drop(ctx context.Context) error {
	l.hold()
	return l.g.delete(ctx, l.object, l.generation)
}

// lock holds a lease until unlock. Its object stays, as the file of a lock of the
// local disk does, unless it is removed before.
func (g *gcs) Lock(ctx context.Context, name string) (unlock func(), err error) {
	o, err := parse(name)
	if err != nil {
		return nil, err
	}
	l, err := g.acquire(ctx, o, ctx.Err)
	if err != nil {
		return nil, err
	}
	return func() {
		ctx, cancel := tidying(ctx)
		defer cancel()
		// A lease that cannot be given back becomes stale.
		_ = l.release(ctx)
	}, nil
}

// tidying returns a context for what is to be done even after the end of another
// one, but not for long.
func tidying(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
}

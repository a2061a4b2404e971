package gcs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"

	gcstorage "cloud.google.com/go/storage"

	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/io/storage"
)

// leaseTimes are the interval at which a lease is renewed, and the time without renewal
// after which others may take it.
type leaseTimes struct{ renew, stale time.Duration }

// lease is an object that one process holds. The holder regularly writes a new
// generation, on the condition that the previous one is its own. Another process that
// writes the object has taken the lease, and the holder's next write fails. A late
// failure does no harm if what the lease guards depends on its generation, as Publish does.
//
// A process that wants the lease watches the object to see whether it is stale, because
// clocks of machines differ.
type lease struct {
	g      *gcs
	object object
	owner  string // this process and lease, in JSON

	mu         sync.Mutex
	generation int64
	stop       context.CancelFunc
	ended      chan struct{} // closed when renewing has ended
}

// acquire takes a lease. If its owner has released it or has ended, it is taken at once.
// Otherwise it is watched until it is released, stale, or renewed, which is
// storage.ErrBusy.
func (g *gcs) acquire(ctx context.Context, o object) (*lease, error) {
	for {
		cond, err := g.watch(ctx, o)
		if err != nil {
			return nil, err
		}
		l := &lease{g: g, object: o, ended: make(chan struct{})}
		by := disk.Me()
		by.Lease = rand.Text()
		text, err := json.Marshal(by)
		if err != nil {
			return nil, err
		}
		l.owner = string(text)
		err = l.write(ctx, *cond)
		if errors.Is(err, errUnmet) {
			continue // another process was faster
		}
		if err != nil {
			l.abandon(ctx, *cond)
			return nil, err
		}
		var renewing context.Context
		renewing, l.stop = context.WithCancel(context.WithoutCancel(ctx))
		go l.renew(renewing)
		return l, nil
	}
}

// abandon releases a lease whose first write was interrupted: the server may have served it all the
// same, or may still do so, and nobody would renew it.
func (l *lease) abandon(ctx context.Context, cond gcstorage.Conditions) {
	if ctx.Err() == nil {
		return // the server has answered, or could not be reached
	}
	ctx, cancel := tidying(ctx)
	defer cancel()
	if l.put(ctx, cond, "", storage.File{}) == nil && cond.DoesNotExist {
		_ = l.g.delete(ctx, l.object, l.generation)
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
		var by disk.Process
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
	return l.put(ctx, cond, l.owner, storage.File{Data: []byte(l.owner)})
}

// put writes a generation with that owner, "" for none, and content.
func (l *lease) put(ctx context.Context, cond gcstorage.Conditions, owner string, content storage.File) error {
	for {
		a, err := l.g.uploadFile(ctx, l.object, &cond, map[string]string{ownerKey: owner}, content)
		if err == nil {
			l.generation = a.Generation
			return nil
		}
		if !errors.Is(err, errUnmet) {
			return err
		}
		// An abandoned write may have succeeded.
		last, thereErr := l.g.attrs(ctx, l.object)
		if thereErr != nil || last.Metadata[ownerKey] != l.owner || last.Generation == cond.GenerationMatch {
			return err
		}
		cond = gcstorage.Conditions{GenerationMatch: last.Generation}
	}
}

// renew renews the lease until the context ends or it is lost.
func (l *lease) renew(ctx context.Context) {
	defer close(l.ended)
	for sleep(ctx, l.g.leases.renew) == nil {
		if err := l.touch(ctx); errors.Is(err, errUnmet) {
			return
		}
		// Any other error comes from a bad connection. If that lasts, others may take
		// the lease.
	}
}

// touch writes a new generation. The error is errUnmet if the lease is lost.
func (l *lease) touch(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(ctx, gcstorage.Conditions{GenerationMatch: l.generation})
}

// hold ends renewing and keeps the lease.
func (l *lease) hold() {
	l.stop()
	<-l.ended
}

// seal writes the final content of the lease and ends renewing. It returns the
// generation. The error is errUnmet if the lease is lost.
func (l *lease) seal(ctx context.Context, content storage.File) (int64, error) {
	l.hold()
	err := l.put(ctx, gcstorage.Conditions{GenerationMatch: l.generation}, l.owner, content)
	return l.generation, err
}

// release releases the lease and keeps its object.
func (l *lease) release(ctx context.Context) error {
	l.hold()
	return l.put(ctx, gcstorage.Conditions{GenerationMatch: l.generation}, "", storage.File{})
}

// drop releases the lease and deletes its object, unless the lease is lost.
func (l *lease) drop(ctx context.Context) error {
	l.hold()
	return l.g.delete(ctx, l.object, l.generation)
}

// Lock holds a lease until unlock. Like the file of a local lock, its object stays unless
// it is removed before.
func (g *gcs) Lock(ctx context.Context, name string) (unlock func(), err error) {
	l, err := g.acquire(ctx, resolved(name))
	if err != nil {
		return nil, err
	}
	return func() {
		ctx, cancel := tidying(ctx)
		defer cancel()
		// A lease that cannot be released becomes stale.
		_ = l.release(ctx)
	}, nil
}

// tidying returns a context for cleaning up, briefly, even after ctx has ended.
func tidying(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
}

package objects

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/internal/pause"
	"github.com/bochner-ml/bochner/io/storage"
)

// Lease is an object that one process holds. The holder regularly writes a new
// version, on the condition that the previous one is its own. Another process that
// writes the object has taken the lease, and the holder's next write fails. A late
// failure does no harm if what the lease guards depends on its version, as Publish does.
//
// A process that wants the lease watches the object to see whether it is stale, because
// clocks of machines differ.
type Lease struct {
	store  *Store
	object Name
	owner  string // this process and lease, in JSON

	mu      sync.Mutex
	version string
	renewed time.Time // before the last renewal
	stop    context.CancelFunc
	ended   chan struct{} // closed when renewing has ended
}

// Acquire takes a lease. If its owner has released it or has ended, it is taken at once.
// Otherwise it is watched until it is released, stale, or renewed, which is
// storage.ErrBusy.
func (s *Store) Acquire(ctx context.Context, o Name) (*Lease, error) {
	for {
		cond, err := s.watch(ctx, o)
		if err != nil {
			return nil, err
		}
		l := &Lease{store: s, object: o, ended: make(chan struct{})}
		by := disk.Me()
		by.Lease = rand.Text()
		text, err := json.Marshal(by)
		if err != nil {
			return nil, err
		}
		l.owner = string(text)
		err = l.write(ctx, *cond)
		if errors.Is(err, ErrUnmet) {
			continue // another process took it first
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

// abandon releases a lease whose first write was interrupted. The server may have served the write, or
// may still do so, and nobody would renew the lease.
func (l *Lease) abandon(ctx context.Context, cond Condition) {
	if ctx.Err() == nil {
		return // the server has answered, or could not be reached
	}
	ctx, cancel := Tidying(ctx)
	defer cancel()
	if l.put(ctx, cond, "", l.unlike("")) == nil && cond.Absent {
		_ = l.store.Service.Delete(ctx, l.object, l.version)
	}
}

// watch waits until a lease may be taken, and returns the condition for that.
func (s *Store) watch(ctx context.Context, o Name) (*Condition, error) {
	first := ""
	since := time.Now()
	for {
		a, err := s.Service.Head(ctx, o)
		if missing(err) {
			return &Condition{Absent: true}, nil
		}
		if err != nil {
			return nil, err
		}
		var by disk.Process
		held := json.Unmarshal([]byte(a.Metadata[OwnerKey]), &by) == nil
		switch {
		case !held, by.Gone():
			return &Condition{Version: a.Version}, nil
		case first != "" && first != a.Version: // however long the watcher itself was stopped
			return nil, storage.BusyError(by.ID, by.Host)
		case time.Since(since) > s.Leases.Stale:
			return &Condition{Version: a.Version}, nil
		}
		first = a.Version
		if err := pause.For(ctx, s.Leases.Renew/8); err != nil {
			return nil, err
		}
	}
}

// write writes a version of the lease.
func (l *Lease) write(ctx context.Context, cond Condition) error {
	return l.put(ctx, cond, l.owner, l.unlike(l.owner))
}

// put writes a version with the owner, "" for none, and the content.
func (l *Lease) put(ctx context.Context, cond Condition, owner string, content storage.File) error {
	for {
		a, err := l.store.putFile(ctx, l.object, cond, map[string]string{OwnerKey: owner}, content)
		if err == nil {
			l.version = a.Version
			return nil
		}
		if !errors.Is(err, ErrUnmet) {
			return err
		}
		// An abandoned write may have succeeded.
		last, thereErr := l.store.Service.Head(ctx, l.object)
		if thereErr != nil || last.Metadata[OwnerKey] != l.owner || last.Version == cond.Version {
			return err
		}
		cond = Condition{Version: last.Version}
	}
}

// unlike returns content for a version that differs from all previous ones.
func (l *Lease) unlike(text string) storage.File {
	if l.store.Hashed {
		text += "\n" + rand.Text()
	}
	return storage.File{Data: []byte(text)}
}

// renew renews the lease until the context ends or it is lost.
func (l *Lease) renew(ctx context.Context) {
	defer close(l.ended)
	for pause.For(ctx, l.store.Leases.Renew) == nil {
		if err := l.Touch(ctx); errors.Is(err, ErrUnmet) {
			return
		}
		// Any other error comes from a bad connection. If that lasts, others may take
		// the lease.
	}
}

// Touch writes a new version. The error is ErrUnmet if the lease is lost.
func (l *Lease) Touch(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	begun := time.Now()
	err := l.write(ctx, Condition{Version: l.version})
	if err == nil {
		l.renewed = begun
	}
	return err
}

// holding renews the lease, and returns a context for deletes that must not reach the service after others may have
// taken the lease. If versions follow from the content, they do not distinguish equal files of two holders.
func (l *Lease) holding(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := l.Touch(ctx); err != nil {
		return nil, nil, err
	}
	if !l.store.Hashed {
		return ctx, func() {}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithDeadline(ctx, l.renewed.Add(l.store.Leases.Delete))
	return ctx, cancel, nil
}

// Ended is closed when the lease is lost or given back.
func (l *Lease) Ended() <-chan struct{} { return l.ended }

// hold ends renewing and keeps the lease.
func (l *Lease) hold() {
	l.stop()
	<-l.ended
}

// Seal writes the final content of the lease and ends renewing. It returns the
// version. The error is ErrUnmet if the lease is lost.
func (l *Lease) Seal(ctx context.Context, content storage.File) (string, error) {
	l.hold()
	err := l.put(ctx, Condition{Version: l.version}, l.owner, content)
	return l.version, err
}

// Release releases the lease and keeps its object.
func (l *Lease) Release(ctx context.Context) error {
	l.hold()
	return l.put(ctx, Condition{Version: l.version}, "", l.unlike(""))
}

// Drop releases the lease and deletes its object, unless the lease is lost.
func (l *Lease) Drop(ctx context.Context) error {
	l.hold()
	if l.store.Hashed { // without conditional deletes, deleting might hit the lease of another process
		if err := l.Release(ctx); err != nil {
			if errors.Is(err, ErrUnmet) {
				err = nil
			}
			return err
		}
	}
	return l.store.Service.Delete(ctx, l.object, l.version)
}

// Lock holds a lease until unlock. Like the file of a local lock, its object stays unless
// it is removed before.
func (s *Store) Lock(ctx context.Context, name string) (unlock func(), err error) {
	l, err := s.Acquire(ctx, resolved(name))
	if err != nil {
		return nil, err
	}
	return func() {
		ctx, cancel := Tidying(ctx)
		defer cancel()
		// A lease that cannot be released becomes stale.
		_ = l.Release(ctx)
	}, nil
}

// Tidying returns a context for cleaning up, briefly, even after ctx has ended.
func Tidying(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
}

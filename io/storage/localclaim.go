package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/internal/owner"
)

// For so long the owner of a lock may take to write who that is.
const (
	ownerTries = 100
	ownerWait  = 2 * time.Millisecond
)

// hold takes the lock of a file until release is called or the process ends. What
// the file then says is who holds it.
//
// Where the file system has no locks the file itself is the lock: whoever makes it
// holds it. It stays after a crash, and the error then says which file to remove.
func (local) hold(p string) (release func(), err error) {
	if err := mkdirAll(filepath.Dir(p)); err != nil {
		return nil, err
	}
	text, err := json.Marshal(owner.Me())
	if err != nil {
		return nil, err
	}
	h, err := disk.Now().Lock(p)
	for try := 0; errors.Is(err, disk.ErrLocked); try++ {
		// Who has just taken the lock has yet to write who that is.
		by, readErr := readOwner(p)
		if readErr == nil && by.ID != 0 && !by.Gone() || try == ownerTries {
			return nil, Busy(by.ID, by.Host)
		}
		time.Sleep(ownerWait)
		h, err = disk.Now().Lock(p)
	}
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return holdByName(p, text)
	case err != nil:
		return nil, err
	}
	if err := h.Note(text); err != nil {
		h.Close()
		return nil, err
	}
	return func() { h.Close() }, nil
}

// holdByName holds the file p by having made it. Taking over the file of an owner who
// is gone would need a lock: that is left to the user.
func holdByName(p string, text []byte) (release func(), err error) {
	f, err := disk.Now().Create(p)
	if errors.Is(err, fs.ErrExist) {
		by, readErr := readOwner(p)
		if readErr == nil && by.Gone() {
			return nil, &Reason{Text: fmt.Sprintf("process %d has left %s, and this file system has no locks that end with a process: remove that file", by.ID, p), Kind: ErrBusy}
		}
		return nil, &Reason{Text: fmt.Sprintf("%v (this file system has no locks that end with a process: if that run is over, remove %s)", Busy(by.ID, by.Host), p), Kind: ErrBusy}
	}
	if err != nil {
		return nil, err
	}
	_, err = f.Write(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		disk.Now().Remove(p)
		return nil, err
	}
	return func() { disk.Now().Remove(p) }, nil
}

func readOwner(p string) (by owner.Process, err error) {
	f, err := disk.Now().Open(p)
	if err != nil {
		return by, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<12))
	if err == nil {
		err = json.Unmarshal(text, &by)
	}
	return by, err
}

func (l local) Lock(ctx context.Context, name string) (unlock func(), err error) {
	p, err := path(name)
	if err != nil {
		return nil, err
	}
	return l.hold(p)
}

// localClaim is the right to make what has the name p: a lock beside it.
type localClaim struct {
	p       string
	release func()
}

func (l local) Claim(ctx context.Context, name string) (Claimed, error) {
	p, err := path(name)
	if err != nil {
		return nil, err
	}
	release, err := l.hold(claimFile(p))
	if err != nil {
		return nil, err
	}
	return &localClaim{p, release}, nil
}

// claimFile names the lock on making p.
func claimFile(p string) string {
	return filepath.Join(filepath.Dir(p), tmpPrefix+filepath.Base(p)+"-claim")
}

func (c *localClaim) Publish(ctx context.Context, files []File) error {
	if err := (local{}).Vacant(ctx, c.p); err != nil {
		return err
	}
	return publishNew(ctx, c.p, files)
}

func (c *localClaim) Clear(context.Context) error { return clearBeside(c.p) }

// drop removes the lock's file while the lock is held: whoever waits for it sees
// that the file is gone, and makes another.
func (c *localClaim) Drop(context.Context) error {
	err := disk.Now().Remove(claimFile(c.p))
	c.release()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

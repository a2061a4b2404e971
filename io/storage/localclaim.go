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
)

// The owner of a lock may take this long to write its name.
const (
	ownerTries = 100
	ownerWait  = 2 * time.Millisecond
)

// hold takes the lock of a file until release is called or the process ends. The file
// names the process that holds it.
//
// On a file system without locks the file itself is the lock, held by the process that
// made it. It stays after a crash, and the error then names the file to remove.
func (local) hold(p string) (release func(), err error) {
	if _, err := mkdirAll(filepath.Dir(p), false); err != nil {
		return nil, err
	}
	text, err := json.Marshal(disk.Me())
	if err != nil {
		return nil, err
	}
	h, err := disk.Now().Lock(p)
	for try := 0; errors.Is(err, disk.ErrLocked); try++ {
		// The process that has just taken the lock may not have written its name yet.
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
		disk.Now().Remove(p) // on a full disk it would stay, empty
		h.Close()
		return nil, err
	}
	return func() { h.Close() }, nil
}

// holdByName holds the lock p by making that file. Taking over the file of a process that
// has ended would need a lock, so that is left to the user.
func holdByName(p string, text []byte) (release func(), err error) {
	f, err := disk.Now().Create(p, false)
	if errors.Is(err, fs.ErrExist) {
		by, readErr := readOwner(p)
		if readErr == nil && by.Gone() {
			return nil, &Reason{Text: fmt.Sprintf("process %d left %s, and this file system has no locks that end with a "+
				"process: remove that file", by.ID, p), Kind: ErrBusy}
		}
		return nil, &Reason{Text: fmt.Sprintf("%v (this file system has no locks that end with a process: if that run has "+
			"ended, remove %s)", Busy(by.ID, by.Host), p), Kind: ErrBusy}
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

func readOwner(p string) (by disk.Process, err error) {
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

func (l local) Lock(_ context.Context, p string) (unlock func(), err error) { return l.hold(p) }

// localClaim is the right to make what has the name p: a lock beside it.
type localClaim struct {
	p       string
	release func()
}

func (l local) Claim(_ context.Context, p string) (Claimed, error) {
	release, err := l.hold(ClaimName(p))
	if err != nil {
		return nil, err
	}
	return &localClaim{p, release}, nil
}

func (c *localClaim) Publish(ctx context.Context, files []File) error {
	if err := (local{}).Vacant(ctx, c.p); err != nil {
		return err
	}
	return publishNew(ctx, c.p, files)
}

func (c *localClaim) Clear(context.Context) error { return clearBeside(c.p) }

// Drop removes the lock's file while it holds the lock: a process that waits for the lock
// sees that the file is gone and makes another.
func (c *localClaim) Drop(context.Context) error {
	err := disk.Now().Remove(ClaimName(c.p))
	c.release()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

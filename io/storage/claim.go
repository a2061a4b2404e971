package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/internal/disk"
)

// A Claim is the exclusive right to create a file or directory of some name. One process has it at a
// time, until Drop or until the process ends in any way. Its file is next to the output,
// so it excludes all processes with the same output, on any machine.
//
// On the local disk it is a lock (flock). Machines that share a network file system
// exclude each other if that supports locks, as NFS does unless mounted with nolock.
// In a bucket it is a lease.
type Claim struct {
	name string
	c    StoreClaim
}

const claimSuffix = "-claim"

// ClaimName returns the name of the file or object of the claim on an absolute name. It
// is in the same directory.
func ClaimName(name string) string {
	dir, base := Split(name)
	return Join(dir, tmpPrefix+base+claimSuffix)
}

// AcquireClaim acquires the claim on a name and creates the directories above it. If another run has
// the claim, the error names that run.
func AcquireClaim(ctx context.Context, name string) (*Claim, error) {
	c, err := withStore("claim", name, func(s Store, abs string) (StoreClaim, error) { return s.Claim(ctx, abs) })
	if err != nil {
		return nil, err
	}
	return &Claim{name, c}, nil
}

// Publish creates a directory of the files, complete or not at all. On the local disk the
// files are written and synced under a temporary name next to it, and then renamed. On
// buckets the file manifest.json, or the last one if there is none of that name, appears
// after all others. It is an error if the directory already exists or another publisher
// creates it first; no files are then left.
func (c *Claim) Publish(ctx context.Context, files []File) error {
	for _, f := range files {
		if f.Name == "" || f.Name != filepath.Base(f.Name) || f.Name == ".." || f.Name == "." {
			panic("storage: Publish: bad file name")
		}
	}
	return fail("publish", c.name, c.c.Publish(ctx, files))
}

// Clear deletes unfinished files that killed writers of the name have left next to it.
func (c *Claim) Clear(ctx context.Context) error { return fail("remove", c.name, c.c.Clear(ctx)) }

// Drop releases the claim.
func (c *Claim) Drop(ctx context.Context) error {
	return fail("remove", c.name, c.c.Drop(context.WithoutCancel(ctx)))
}

// ClearClaims removes the claims of ended processes in the directories of a pattern, and what their
// holders have left unfinished.
func ClearClaims(ctx context.Context, dirs string) error {
	claims, err := List(ctx, ClaimName(Join(dirs, "*")))
	if errors.Is(err, ErrNoMatch) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, o := range claims {
		dir, name := Split(o.Name)
		c, failed := AcquireClaim(ctx, Join(dir, strings.TrimSuffix(name[len(tmpPrefix):], claimSuffix)))
		if errors.Is(failed, ErrBusy) {
			continue
		}
		if failed == nil {
			failed = errors.Join(c.Clear(ctx), c.Drop(ctx))
		}
		err = errors.Join(err, failed)
	}
	return err
}

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
	if err := mkdirAll(filepath.Dir(p)); err != nil {
		return nil, err
	}
	text, err := json.Marshal(disk.Me())
	if err != nil {
		return nil, err
	}
	h, err := disk.Current().Lock(p)
	for try := 0; errors.Is(err, disk.ErrLocked); try++ {
		// The process that has just taken the lock may not have written its name yet.
		by, readErr := readOwner(p)
		if readErr == nil && by.ID != 0 && !by.Gone() || try == ownerTries {
			return nil, BusyError(by.ID, by.Host)
		}
		time.Sleep(ownerWait)
		h, err = disk.Current().Lock(p)
	}
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return holdByName(p, text)
	case err != nil:
		return nil, err
	}
	if err := h.Note(text); err != nil {
		disk.Current().Remove(p) // on a full disk it would stay, empty
		h.Close()
		return nil, err
	}
	return func() { h.Close() }, nil
}

// holdByName holds the lock p by making that file. Taking over the file of a process that
// has ended would need a lock, so that is left to the user.
func holdByName(p string, text []byte) (release func(), err error) {
	f, err := disk.Current().Create(p, public&rw)
	if errors.Is(err, fs.ErrExist) {
		by, readErr := readOwner(p)
		if readErr == nil && by.Gone() {
			return nil, &ReasonError{Text: fmt.Sprintf("process %d left %s, and this file system has no locks that end with a "+
				"process: remove that file", by.ID, p), Kind: ErrBusy}
		}
		return nil, &ReasonError{Text: fmt.Sprintf("%v (this file system has no locks that end with a process: if that "+
			"run has ended, remove %s)", BusyError(by.ID, by.Host), p), Kind: ErrBusy}
	}
	if err != nil {
		return nil, err
	}
	_, err = f.Write(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		disk.Current().Remove(p)
		return nil, err
	}
	return func() { disk.Current().Remove(p) }, nil
}

func readOwner(p string) (by disk.Process, err error) {
	f, err := disk.Current().Open(p)
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

// localClaim is the Claim on the name p of the local disk: a lock of a file next to it.
type localClaim struct {
	p       string
	release func()
}

func (l local) Claim(_ context.Context, p string) (StoreClaim, error) {
	release, err := l.hold(ClaimName(p))
	if err != nil {
		return nil, err
	}
	return &localClaim{p, release}, nil
}

func (c *localClaim) Publish(ctx context.Context, files []File) error {
	if err := (local{}).CheckAbsent(ctx, c.p); err != nil {
		return err
	}
	return publishNew(ctx, c.p, files)
}

func (c *localClaim) Clear(context.Context) error { return clearBeside(c.p) }

// Drop removes the lock's file while it holds the lock: a process that waits for the lock
// sees that the file is gone and makes another.
func (c *localClaim) Drop(context.Context) error {
	err := disk.Current().Remove(ClaimName(c.p))
	c.release()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

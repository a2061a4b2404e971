package storage

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// A Claim is the right to make a file or directory of some name. One process has it at a
// time, until Drop or until the process ends in any way. Its file is beside the output,
// so it excludes all processes with the same output, on any machine.
//
// On the local disk it is a lock (flock). Machines that share a network file system
// exclude each other if that supports locks, as NFS does unless mounted with nolock.
// In a bucket it is a lease.
type Claim struct {
	name string
	c    Claimed
}

const claimSuffix = "-claim"

// ClaimName returns the name of the file or object of the claim on an absolute name. It
// is in the same directory.
func ClaimName(name string) string {
	dir, base := Split(name)
	return Join(dir, tmpPrefix+base+claimSuffix)
}

// AcquireClaim takes the claim on a name and makes the directories above it. If another run has
// the claim, the error names that run.
func AcquireClaim(ctx context.Context, name string) (*Claim, error) {
	c, err := withStore("claim", name, func(s Store, abs string) (Claimed, error) { return s.Claim(ctx, abs) })
	if err != nil {
		return nil, err
	}
	return &Claim{name, c}, nil
}

// Publish makes a directory of the files, whole or not at all. On the local disk the
// files are written and synced under a temporary name beside it, and then renamed. On
// buckets the file manifest.json, or the last one if there is none of that name, appears
// after all others. It is an error if the directory already exists or another publisher
// makes it first; no files are then left.
func (c *Claim) Publish(ctx context.Context, files []File) error {
	for _, f := range files {
		if f.Name == "" || f.Name != filepath.Base(f.Name) || f.Name == ".." || f.Name == "." {
			panic("storage: Publish: bad file name")
		}
	}
	return fail("publish", c.name, c.c.Publish(ctx, files))
}

// Clear deletes unfinished files that killed writers of the name have left beside it.
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

package storage

import (
	"context"
	"path/filepath"
)

// A Claim is the right to make a file or directory of some name. One process has it
// at a time, until Drop or until it ends, however it ends. It stands beside what is
// to be made, so it keeps out whoever would make the same, wherever they work.
//
// On the local disk it is a lock (flock); machines that share a network file system
// exclude each other if that passes locks on, as NFS does unless mounted with nolock.
// On gs:// it is a lease.
type Claim struct {
	name string
	c    Claimed
}

// Take takes the claim on a name. That another run has it is an error which names
// the run. Directories above the name are made.
func Take(ctx context.Context, name string) (*Claim, error) {
	b, err := at(name)
	if err != nil {
		return nil, fail("claim", name, err)
	}
	c, err := b.Claim(ctx, name)
	if err != nil {
		return nil, fail("claim", name, err)
	}
	return &Claim{name, c}, nil
}

// Publish makes a directory of the files, whole or not at all. On the local disk
// they are written and brought to the disk under a temporary name beside it, which a
// rename then makes visible; on gs:// the file named manifest.json, or the last one
// where none is, appears when all others are there. A directory that exists already,
// or that another publisher makes first, is an error, and nothing is left behind.
func (c *Claim) Publish(ctx context.Context, files []File) error {
	for _, f := range files {
		if f.Name == "" || f.Name != filepath.Base(f.Name) || f.Name == ".." || f.Name == "." {
			panic("storage: Publish: bad file name")
		}
	}
	return fail("publish", c.name, c.c.Publish(ctx, files))
}

// Clear deletes what killed writers have left beside the name: what they had begun
// to publish or create.
func (c *Claim) Clear(ctx context.Context) error { return fail("remove", c.name, c.c.Clear(ctx)) }

// Drop releases the claim.
func (c *Claim) Drop(ctx context.Context) error {
	return fail("remove", c.name, c.c.Drop(context.WithoutCancel(ctx)))
}

package storage

import (
	"bytes"
	"context"
	"io"
	"strings"
)

// Create writes a file through the function write, and makes the directories above it.
// When write returns without error, the file is synced and replaces an older file of that
// name; otherwise nothing changes.
func Create(ctx context.Context, uri string, write func(io.Writer) error) error {
	return create(ctx, uri, -1, true, write)
}

// WriteFile writes data as Create does.
func WriteFile(ctx context.Context, uri string, data []byte) error {
	return create(ctx, uri, int64(len(data)), true, func(w io.Writer) error { return File{Data: data}.CopyTo(ctx, w) })
}

func create(ctx context.Context, uri string, size int64, wait bool, write func(io.Writer) error) error {
	return act("create", uri, func(s Store, abs string) error { return s.Create(ctx, abs, size, wait, write) })
}

// File is one file of a directory to publish: either Data, or the content of
// the file From, which stays where it is.
type File struct {
	Name string // without directories
	Data []byte
	From string // URI; if set, Data is not used
	Sum  *Sum   // of From; a file with another one is not published
}

// Publish makes a directory of the files as Claim.Publish does, under a claim that it
// takes and drops, and removes what killed publishers have left.
func Publish(ctx context.Context, dir string, files []File) error {
	if err := MustNotExist(ctx, dir); err != nil {
		return err
	}
	c, err := AcquireClaim(ctx, dir)
	if err != nil {
		return err
	}
	defer c.Drop(ctx)
	_ = c.Clear(ctx) // files that cannot be removed do no harm
	return c.Publish(ctx, files)
}

// MustNotExist returns an error if dir already exists, so that a job can fail at its start and
// not after an hour of work.
func MustNotExist(ctx context.Context, dir string) error {
	return act("publish", dir, func(s Store, abs string) error { return s.Vacant(ctx, abs) })
}

// Open reads the content of the file.
func (f File) Open(ctx context.Context) (io.ReadCloser, error) {
	if f.From == "" {
		return io.NopCloser(bytes.NewReader(f.Data)), nil
	}
	return Open(ctx, f.From, 0, -1)
}

// CopyTo writes the content of the file to w and checks its Sum.
func (f File) CopyTo(ctx context.Context, w io.Writer) error {
	r, err := f.Open(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	sum := NewSummer()
	if _, err = io.Copy(io.MultiWriter(w, sum), r); err == nil && f.Sum != nil && sum.Sum() != *f.Sum {
		err = Damaged(f.From)
	}
	return err
}

// Size returns the size of the file in bytes, -1 if unknown.
func (f File) Size() int64 {
	if f.From == "" {
		return int64(len(f.Data))
	}
	return -1
}

// Remove deletes a file, or a directory with its content. It is not an error if the name
// does not exist.
func Remove(ctx context.Context, uri string) error {
	return act("remove", uri, func(s Store, abs string) error { return s.Remove(ctx, abs) })
}

// ClearUnfinished deletes the unfinished files that killed writers have left in a directory. The caller
// is the only one that writes to it.
func ClearUnfinished(ctx context.Context, dir string) error {
	names, err := Names(ctx, dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		at := strings.LastIndexByte(name, '-')
		if at < len(tmpPrefix) || !unfinished(name, name[len(tmpPrefix):at]) {
			continue
		}
		if err := Remove(ctx, Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// RemoveEmpty deletes a directory that is Empty.
func RemoveEmpty(ctx context.Context, dir, but string) error {
	if empty, err := Empty(ctx, dir, but); err != nil || !empty {
		return err
	}
	return act("remove", dir, func(s Store, abs string) error { return s.RemoveEmpty(ctx, abs, but) })
}

// Lock locks a file, which it makes if needed, and returns the function that releases the
// lock. On the local disk the system releases it when the process ends in any way; in a bucket
// the next process that wants it sees within seconds that it is not renewed. It is an error
// if another process holds the lock.
func Lock(ctx context.Context, uri string) (unlock func(), err error) {
	return withStore("lock", uri, func(s Store, abs string) (func(), error) { return s.Lock(ctx, abs) })
}

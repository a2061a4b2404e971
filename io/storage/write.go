package storage

import (
	"bytes"
	"context"
	"io"
)

// Create writes a file through the function write, making the directories above
// it. The file appears under its name when write has returned without error, in
// the place of an older file of that name, and is on the disk then; otherwise nothing
// is left.
func Create(ctx context.Context, uri string, write func(io.Writer) error) error {
	return create(ctx, uri, -1, true, write)
}

// WriteFile writes data as Create does.
func WriteFile(ctx context.Context, uri string, data []byte) error {
	return create(ctx, uri, int64(len(data)), true, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

func create(ctx context.Context, uri string, size int64, wait bool, write func(io.Writer) error) error {
	b, err := at(uri)
	if err == nil {
		err = b.Create(ctx, uri, size, wait, write)
	}
	return fail("create", uri, err)
}

// File is one file of a directory to publish: either Data, or the content of
// the file From, which stays where it is.
type File struct {
	Name string // without directories
	Data []byte
	From string // URI; where set, Data is not used
	Sum  *Sum   // of From; what has another is not published
}

// Publish makes a directory of the files as Claim.Publish does, with a claim for as
// long as that takes.
func Publish(ctx context.Context, dir string, files []File) error {
	if err := Vacant(ctx, dir); err != nil {
		return err
	}
	c, err := Take(ctx, dir)
	if err != nil {
		return err
	}
	defer c.Drop(ctx)
	return c.Publish(ctx, files)
}

// Vacant returns an error if something stands at dir already, so that a job can
// say so before it has worked for an hour.
func Vacant(ctx context.Context, dir string) error {
	b, err := at(dir)
	if err == nil {
		err = b.Vacant(ctx, dir)
	}
	return fail("publish", dir, err)
}

// Holds tells whether a directory has the given files, byte for byte, and
// nothing else: whether Publish of them would make what is there. On gs:// the
// bytes are compared by their checksums.
func Holds(ctx context.Context, dir string, files []File) (same bool, err error) {
	b, err := at(dir)
	if err == nil {
		same, err = b.Holds(ctx, dir, files)
	}
	return same, fail("list", dir, err)
}

// Open reads the file that is to be published.
func (f File) Open(ctx context.Context) (io.ReadCloser, error) {
	if f.From == "" {
		return io.NopCloser(bytes.NewReader(f.Data)), nil
	}
	return Open(ctx, f.From, 0, -1)
}

// CopyTo writes what is to be published.
func (f File) CopyTo(ctx context.Context, w io.Writer) error {
	r, err := f.Open(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	sum := NewSummer()
	if _, err = io.Copy(io.MultiWriter(w, sum), r); err == nil && f.Sum != nil && sum.Sum() != *f.Sum {
		err = fail("read", f.From, ErrDamaged)
	}
	return err
}

// Size returns the bytes of the file, -1 where they are not known.
func (f File) Size() int64 {
	if f.From == "" {
		return int64(len(f.Data))
	}
	return -1
}

// Remove deletes a file or a directory with all that is in it. Nothing there is
// no error.
func Remove(ctx context.Context, uri string) error {
	b, err := at(uri)
	if err == nil {
		err = b.Remove(ctx, uri)
	}
	return fail("remove", uri, err)
}

// RemoveEmpty deletes a directory that is Empty.
func RemoveEmpty(ctx context.Context, dir, but string) error {
	b, err := at(dir)
	if err == nil {
		err = b.RemoveEmpty(ctx, dir, but)
	}
	return fail("remove", dir, err)
}

// Lock takes a lock by the name of a file, which it makes where needed, and
// returns the function that gives it back. On the local disk the system gives the
// lock back when the process ends, however it ends; on gs:// the next one who
// wants it finds out, within seconds, that nobody renews it. A lock that another
// process holds is an error.
func Lock(ctx context.Context, uri string) (unlock func(), err error) {
	b, err := at(uri)
	if err == nil {
		unlock, err = b.Lock(ctx, uri)
	}
	return unlock, fail("lock", uri, err)
}

package storage

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/internal/disk"
	"github.com/bochner-ml/bochner/internal/pause"
)

// Sync says when a written file is on the disk.
type Sync bool

const (
	SyncNow   Sync = true  // before the call returns
	SyncLater Sync = false // while the job continues, for files of state; see Settle
)

// Create writes a file through the function write, and makes the directories above it.
// When write returns without error, the file is synced and replaces an older file of that
// name; otherwise nothing changes.
func Create(ctx context.Context, uri string, write func(io.Writer) error) error {
	return create(ctx, uri, -1, SyncNow, write)
}

// WriteFile writes data as Create does.
func WriteFile(ctx context.Context, uri string, data []byte) error {
	return create(ctx, uri, int64(len(data)), SyncNow,
		func(w io.Writer) error { return File{Data: data}.CopyTo(ctx, w) })
}

func create(ctx context.Context, uri string, size int64, sync Sync, write func(io.Writer) error) error {
	return act("create", uri, func(s Store, abs string) error { return s.Create(ctx, abs, size, sync, write) })
}

// File is one file of a directory to publish: either Data, or the content of
// the file From, which stays where it is.
type File struct {
	Name     string // without directories
	Data     []byte
	From     string    // URI; if set, Data is not used
	Checksum *Checksum // of From; a file with another one is not published
}

// Publish makes a directory of the files as Claim.Publish does, under a claim that it
// takes and drops, and removes what killed publishers have left.
func Publish(ctx context.Context, dir string, files []File) error {
	if err := CheckAbsent(ctx, dir); err != nil {
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

// CheckAbsent returns an error if dir already exists, so that a job can fail at its start and
// not after an hour of work.
func CheckAbsent(ctx context.Context, dir string) error {
	return act("publish", dir, func(s Store, abs string) error { return s.CheckAbsent(ctx, abs) })
}

// Open reads the content of the file.
func (f File) Open(ctx context.Context) (io.ReadCloser, error) {
	if f.From == "" {
		return io.NopCloser(bytes.NewReader(f.Data)), nil
	}
	return Open(ctx, f.From, 0, -1)
}

// CopyTo writes the content of the file to w and checks its Checksum.
func (f File) CopyTo(ctx context.Context, w io.Writer) error {
	r, err := f.Open(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	h := NewHash()
	if _, err = io.Copy(io.MultiWriter(w, h), r); err == nil && f.Checksum != nil && h.Checksum() != *f.Checksum {
		err = DamagedError(f.From)
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

// RemoveEmpty deletes a directory if it is empty, as defined by IsEmpty.
func RemoveEmpty(ctx context.Context, dir, except string) error {
	if empty, err := IsEmpty(ctx, dir, except); err != nil || !empty {
		return err
	}
	return act("remove", dir, func(s Store, abs string) error { return s.RemoveEmpty(ctx, abs, except) })
}

// Lock locks a file, which it makes if needed, and returns the function that releases the
// lock. On the local disk the system releases it when the process ends in any way; in a bucket
// the next process that wants it sees within seconds that it is not renewed. It is an error
// if another process holds the lock.
func Lock(ctx context.Context, uri string) (unlock func(), err error) {
	return withStore("lock", uri, func(s Store, abs string) (func(), error) { return s.Lock(ctx, abs) })
}

// EqualFiles reports whether a directory has exactly the given files, byte for byte.
func EqualFiles(ctx context.Context, dir string, files []File) (bool, error) {
	names, err := Names(ctx, dir)
	if err != nil || len(names) != len(files) {
		return false, err
	}
	for _, f := range files {
		if !slices.Contains(names, f.Name) {
			return false, nil
		}
		if same, err := f.equals(ctx, Join(dir, f.Name)); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

// equals compares the file with one that is stored.
func (f File) equals(ctx context.Context, name string) (bool, error) {
	stored, err := Open(ctx, name, 0, -1)
	if err != nil {
		return false, err
	}
	defer stored.Close()
	mine, err := f.Open(ctx)
	if err != nil {
		return false, err
	}
	defer mine.Close()
	x, y := bufio.NewReaderSize(mine, 1<<16), bufio.NewReaderSize(stored, 1<<16)
	for {
		a, errA := x.Peek(1 << 16)
		b, errB := y.Peek(1 << 16)
		switch {
		case errA != nil && errA != io.EOF:
			return false, errA
		case errB != nil && errB != io.EOF:
			return false, errB
		case !bytes.Equal(a, b):
			return false, nil
		case errA == io.EOF:
			return true, nil // the ends are equal, and the second ended with the first
		}
		x.Discard(len(a))
		y.Discard(len(b))
	}
}

// MaxSwap is the largest file that CompareAndSwap replaces, in bytes.
const MaxSwap = 16 << 20

// ErrSwapped means that a file is not what the caller of CompareAndSwap has read.
var ErrSwapped = errors.New("has changed since it was read; look at it, and try again")

// CompareAndSwap replaces a small file if its content is old: of several processes that replace the
// same content, one succeeds, and the error of the others is ErrSwapped. A nil old means
// that there must be no such file. Like Create it creates the directories above the file,
// and returns when the file is on the disk.
//
// If the answer of a server was lost and another process has replaced the file since, the
// error is ErrSwapped although the file had the new content for a while. If this
// matters, the content must identify its writer.
func CompareAndSwap(ctx context.Context, name string, old, next []byte) error {
	if len(next) > MaxSwap {
		return fail("swap", name, Invalidf("has %d bytes; the limit is %d", len(next), MaxSwap))
	}
	return act("swap", name, func(s Store, abs string) error { return s.CompareAndSwap(ctx, abs, old, next) })
}

// How long a file of this machine waits for others that replace it.
const (
	swapPause = 2 * time.Millisecond
	swapWait  = 30 * time.Second
)

// CompareAndSwap compares and replaces the file under a lock next to it, and renames the new content
// into place. What killed processes have left is removed.
func (l local) CompareAndSwap(ctx context.Context, p string, old, next []byte) error {
	c, err := l.claimSoon(ctx, p)
	if err != nil {
		return err
	}
	defer c.Drop(context.WithoutCancel(ctx))
	if err := c.Clear(ctx); err != nil {
		return err
	}
	stored, err := readSwapped(p)
	if err != nil {
		return err
	}
	if (stored == nil) != (old == nil) || !bytes.Equal(stored, old) {
		return ErrSwapped
	}
	return l.Create(ctx, p, -1, SyncNow, func(w io.Writer) error { return File{Data: next}.CopyTo(ctx, w) })
}

// claimSoon takes a claim and waits for others that hold it for a moment.
func (l local) claimSoon(ctx context.Context, p string) (StoreClaim, error) {
	for begun := time.Now(); ; {
		c, err := l.Claim(ctx, p)
		if !errors.Is(err, ErrBusy) || time.Since(begun) > swapWait {
			return c, err
		}
		if err := pause.For(ctx, swapPause); err != nil {
			return nil, err
		}
	}
}

// readSwapped returns the content of a file, nil if there is none. Of a file that is too
// large it returns the beginning, which is not equal to any content.
func readSwapped(p string) ([]byte, error) {
	f, err := disk.Current().Open(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSwap+1))
	if data == nil {
		data = []byte{}
	}
	return data, err
}

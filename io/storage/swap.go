package storage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/bochner-ml/bochner/internal/disk"
)

// MaxSwap is the largest file that Swap replaces, in bytes.
const MaxSwap = 16 << 20

// ErrSwapped means that a file is not what the caller of Swap has read.
var ErrSwapped = errors.New("has changed since it was read; look at it, and try again")

// Swap replaces a small file if its content is old: of several processes that replace the
// same content, one succeeds, and the error of the others is ErrSwapped. A nil old means
// that there must be no such file. Like Create it makes the directories above the file,
// and returns when the file is on the disk.
//
// If the answer of a server was lost and another process has replaced the file since, the
// error is ErrSwapped although the file had the new content for a while. Files that need
// to tell the two apart contain something by which a later reader recognises the writer.
func Swap(ctx context.Context, name string, old, new []byte) error {
	if len(new) > MaxSwap {
		return fail("swap", name, Invalid("has %d bytes; the limit is %d", len(new), MaxSwap))
	}
	return act("swap", name, func(s Store, abs string) error { return s.Swap(ctx, abs, old, new) })
}

// A Swap waits this long for others that replace the same file.
const (
	swapPause = 2 * time.Millisecond
	swapWait  = 30 * time.Second
)

// Swap compares and replaces the file under a lock beside it, and renames the new content
// into place. What killed processes have left is removed.
func (l local) Swap(ctx context.Context, p string, old, new []byte) error {
	c, err := l.claimSoon(ctx, p)
	if err != nil {
		return err
	}
	defer c.Drop(context.WithoutCancel(ctx))
	if err := c.Clear(ctx); err != nil {
		return err
	}
	there, err := readSwapped(p)
	if err != nil {
		return err
	}
	if (there == nil) != (old == nil) || !bytes.Equal(there, old) {
		return ErrSwapped
	}
	return l.Create(ctx, p, -1, true, func(w io.Writer) error { return File{Data: new}.CopyTo(ctx, w) })
}

// claimSoon takes a claim and waits for others that hold it for a moment.
func (l local) claimSoon(ctx context.Context, p string) (Claimed, error) {
	for begun := time.Now(); ; {
		c, err := l.Claim(ctx, p)
		if !errors.Is(err, ErrBusy) || time.Since(begun) > swapWait {
			return c, err
		}
		select {
		case <-time.After(swapPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// readSwapped returns the content of a file, nil if there is none. Of a file that is too
// large it returns the beginning, which is not equal to any content.
func readSwapped(p string) ([]byte, error) {
	f, err := disk.Now().Open(p)
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

package storage

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// tmpPrefix begins the names under which unfinished files and directories stand
// beside the finished one. Patterns such as `*` do not match a leading dot.
const tmpPrefix = ".tmp-"

// tmpName returns a fresh temporary name beside p.
func tmpName(p string) string {
	return filepath.Join(filepath.Dir(p), tmpPrefix+filepath.Base(p)+"-"+random())
}

// random returns 16 digits that nobody has had before.
func random() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func (local) create(ctx context.Context, name string, _ int64, write func(io.Writer) error) error {
	p, err := path(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		return err
	}
	tmp := tmpName(p)
	err = writeNew(ctx, tmp, write, false)
	if err == nil {
		err = os.Rename(tmp, p)
	}
	if err != nil {
		os.Remove(tmp)
	}
	return err
}

// writeNew writes a file that must not exist; durable waits for the disk.
func writeNew(ctx context.Context, p string, write func(io.Writer) error, durable bool) (err error) {
	f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	w := bufio.NewWriterSize(cancelled{ctx, f}, 1<<18)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if durable {
		return f.Sync()
	}
	return nil
}

// cancelled stops writing when the context ends.
type cancelled struct {
	ctx context.Context
	w   io.Writer
}

func (c cancelled) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(p)
}

func (l local) publish(ctx context.Context, dir string, files []File) (err error) {
	p, err := path(dir)
	if err != nil {
		return err
	}
	if err := l.vacant(ctx, dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		return err
	}
	tmp := tmpName(p)
	if err := os.Mkdir(tmp, 0o777); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(tmp)
		}
	}()
	for _, f := range files {
		write := func(w io.Writer) error { return f.copyTo(ctx, w) }
		if err := writeNew(ctx, filepath.Join(tmp, f.Name), write, true); err != nil {
			return err
		}
	}
	if err := syncDir(tmp); err != nil {
		return err
	}
	if err := renameNew(tmp, p); err != nil {
		return err
	}
	return syncDir(filepath.Dir(p))
}

func (l local) vacant(ctx context.Context, dir string) error {
	there, err := l.exists(ctx, dir)
	if err == nil && there {
		err = errOccupied
	}
	return err
}

// syncDir brings a directory's entries to the disk. Not every file system can.
func syncDir(p string) error {
	d, err := os.Open(p)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return nil
}

func (local) remove(ctx context.Context, name string) error {
	p, err := path(name)
	if err != nil {
		return err
	}
	return os.RemoveAll(p)
}

func (l local) removeEmpty(ctx context.Context, dir string) error {
	empty, err := l.empty(ctx, dir)
	if err != nil || !empty {
		return err
	}
	p, err := path(dir)
	if err == nil {
		err = os.Remove(p)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

func (local) removeUnfinished(ctx context.Context, name string) error {
	p, err := path(name)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Dir(p))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	want := tmpPrefix + filepath.Base(p) + "-"
	for _, e := range entries {
		name := e.Name()
		if len(name) != len(want)+16 || name[:len(want)] != want {
			continue
		}
		if err := os.RemoveAll(filepath.Join(filepath.Dir(p), name)); err != nil {
			return err
		}
	}
	return nil
}

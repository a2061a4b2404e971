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
	var b [8]byte
	rand.Read(b[:])
	return filepath.Join(filepath.Dir(p), tmpPrefix+filepath.Base(p)+"-"+hex.EncodeToString(b[:]))
}

// Create writes a file through the function write, making the directories above
// it. The file appears under its name when write has returned without error, in
// the place of an older file of that name; otherwise nothing is left.
func Create(ctx context.Context, uri string, write func(io.Writer) error) error {
	p, err := path(uri)
	if err != nil {
		return fail("create", uri, err)
	}
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		return fail("create", uri, err)
	}
	tmp := tmpName(p)
	if err := writeNew(ctx, tmp, write, false); err != nil {
		os.Remove(tmp)
		return fail("create", uri, err)
	}
	if err := os.Rename(tmp, p); err != nil {
		os.Remove(tmp)
		return fail("create", uri, err)
	}
	return nil
}

// WriteFile writes data as Create does.
func WriteFile(ctx context.Context, uri string, data []byte) error {
	return Create(ctx, uri, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
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

// File is one file of a directory to publish: either Data, or the content of
// the file From, which stays where it is.
type File struct {
	Name string // without directories
	Data []byte
	From string // URI; where set, Data is not used
}

// Publish makes a directory of the files, whole or not at all: they are written
// and brought to the disk under a temporary name beside dir, which a rename then
// makes visible. A dir that exists already, or that another publisher makes
// first, is an error, and nothing is left behind.
func Publish(ctx context.Context, dir string, files []File) (err error) {
	defer func() { err = fail("publish", dir, err) }()
	p, err := path(dir)
	if err != nil {
		return err
	}
	if err := Vacant(ctx, dir); err != nil {
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
		if f.Name == "" || f.Name != filepath.Base(f.Name) || f.Name == ".." || f.Name == "." {
			panic("storage: Publish: bad file name")
		}
		if err := writeNew(ctx, filepath.Join(tmp, f.Name), f.copyTo, true); err != nil {
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

// Vacant returns an error if something stands at dir already, so that a job can
// say so before it has worked for an hour.
func Vacant(ctx context.Context, dir string) error {
	there, err := Exists(ctx, dir)
	if err == nil && there {
		err = fail("publish", dir, errOccupied)
	}
	return err
}

func (f File) copyTo(w io.Writer) error {
	if f.From == "" {
		_, err := w.Write(f.Data)
		return err
	}
	r, err := open(f.From, 0)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(w, r)
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

// Remove deletes a file or a directory with all that is in it. Nothing there is
// no error.
func Remove(ctx context.Context, uri string) error {
	p, err := path(uri)
	if err != nil {
		return fail("remove", uri, err)
	}
	return fail("remove", uri, os.RemoveAll(p))
}

// RemoveEmpty deletes a directory unless it holds anything.
func RemoveEmpty(ctx context.Context, dir string) error {
	empty, err := Empty(ctx, dir)
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
	return fail("remove", dir, err)
}

// RemoveUnfinished deletes what killed writers have left beside uri: the files
// and directories under the temporary names of Create and Publish for it. Only
// one who holds the lock of the work on uri may call it.
func RemoveUnfinished(ctx context.Context, uri string) error {
	p, err := path(uri)
	if err != nil {
		return fail("remove", uri, err)
	}
	entries, err := os.ReadDir(filepath.Dir(p))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fail("remove", uri, err)
	}
	want := tmpPrefix + filepath.Base(p) + "-"
	for _, e := range entries {
		name := e.Name()
		if len(name) != len(want)+16 || name[:len(want)] != want {
			continue
		}
		if err := os.RemoveAll(filepath.Join(filepath.Dir(p), name)); err != nil {
			return fail("remove", uri, err)
		}
	}
	return nil
}

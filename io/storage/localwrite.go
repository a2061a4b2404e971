package storage

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/internal/disk"
)

// tmpPrefix begins the names of unfinished files and directories, which are next to the
// finished one. Patterns such as `*` do not match a leading dot.
const tmpPrefix = ".tmp-"

// tmpName returns a new temporary name next to p.
func tmpName(p string) string {
	var b [8]byte
	rand.Read(b[:])
	return filepath.Join(filepath.Dir(p), tmpPrefix+filepath.Base(p)+"-"+hex.EncodeToString(b[:]))
}

func (l local) Create(ctx context.Context, p string, _ int64, wait bool, write func(io.Writer) error) error {
	if err := replace(ctx, p, write, wait); err != nil {
		return err
	}
	if wait {
		return disk.Current().Sync(filepath.Dir(p))
	}
	settling.add(p)
	return nil
}

// replace writes a file under a temporary name and renames it. If durable is set, its content, but not
// yet its name, is then on the disk. Otherwise it is state, which is private in a private directory.
func replace(ctx context.Context, p string, write func(io.Writer) error, durable bool) error {
	private, err := mkdirAll(filepath.Dir(p), !durable)
	if err != nil {
		return err
	}
	tmp := tmpName(p)
	err = writeNew(ctx, tmp, write, durable, private)
	if err == nil {
		err = disk.Current().Rename(tmp, p)
	}
	if err != nil {
		disk.Current().Remove(tmp)
	}
	return err
}

// MkdirPrivate makes a directory that only its owner may use, and so the state in it, unless the directory
// exists. Buckets have no such directories.
func MkdirPrivate(ctx context.Context, name string) error {
	return act("create", name, func(s Store, p string) error {
		if s != (local{}) {
			return nil
		}
		_, err := mkdirAll(filepath.Dir(p), false)
		if err == nil {
			_, err = mkdir(p, true)
		}
		return err
	})
}

// mkdirAll makes a directory and those above it, and syncs each before it is used. It reports whether state
// in the directory is private. Directories that it makes for state in a private directory are private, too.
func mkdirAll(dir string, state bool) (private bool, err error) {
	fi, err := disk.Current().Stat(dir)
	switch {
	case err == nil && fi.IsDir():
		return state && fi.Mode().Perm()&0o077 == 0, nil
	case err == nil:
		return false, &fs.PathError{Op: "mkdir", Path: dir, Err: errNotDir}
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	if private, err = mkdirAll(filepath.Dir(dir), state); err != nil {
		return false, err
	}
	return mkdir(dir, private)
}

// mkdir makes a directory in an existing one.
func mkdir(dir string, private bool) (bool, error) {
	if err := disk.Current().Mkdir(dir, private); err != nil {
		if fi, statErr := disk.Current().Stat(dir); statErr == nil && fi.IsDir() {
			return private, nil // another process was faster
		}
		return false, err
	}
	return private, disk.Current().Sync(filepath.Dir(dir))
}

// writers are the buffers of files that are written: a new one costs more than a small file.
var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 1<<18) }}

// writeNew writes a file that must not exist; durable waits for the disk.
func writeNew(ctx context.Context, p string, write func(io.Writer) error, durable, private bool) (err error) {
	f, err := disk.Current().Create(p, private)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	w := writers.Get().(*bufio.Writer)
	w.Reset(cancelled{ctx, f})
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	w.Reset(nil)
	writers.Put(w)
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

// parallelSyncs is how many files are synced concurrently: a file system commits them
// together.
const parallelSyncs = 8

// publishNew makes a directory of the files under a temporary name, syncs it and renames
// it.
func publishNew(ctx context.Context, p string, files []File) (err error) {
	if _, err := mkdirAll(filepath.Dir(p), false); err != nil {
		return err
	}
	tmp := tmpName(p)
	if err := disk.Current().Mkdir(tmp, false); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			disk.Current().RemoveAll(tmp)
		}
	}()
	tasks, tctx := errgroup.WithContext(ctx)
	tasks.SetLimit(parallelSyncs)
	for _, f := range files {
		tasks.Go(func() error {
			return writeNew(tctx, filepath.Join(tmp, f.Name), func(w io.Writer) error { return f.CopyTo(tctx, w) }, true, false)
		})
	}
	if err := tasks.Wait(); err != nil {
		return err
	}
	if err := disk.Current().Sync(tmp); err != nil {
		return err
	}
	if err := disk.Current().RenameNew(tmp, p); err != nil {
		return err
	}
	// All processes now see the whole directory. If this fails, a power cut may still
	// undo the rename.
	return disk.Current().Sync(filepath.Dir(p))
}

func (l local) CheckAbsent(ctx context.Context, dir string) error {
	exists, err := l.Exists(ctx, dir)
	if err == nil && exists {
		err = ErrExists
	}
	return err
}

func (local) Remove(_ context.Context, p string) error { return disk.Current().RemoveAll(p) }

func (local) RemoveEmpty(_ context.Context, p, except string) (err error) {
	if except != "" {
		err = clearBeside(filepath.Join(p, except))
	}
	if err == nil {
		err = disk.Current().Remove(p)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// clearBeside deletes unfinished files that killed writers of p have left next to it.
func clearBeside(p string) error {
	entries, err := disk.Current().ReadDir(filepath.Dir(p))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for _, e := range entries {
		if !unfinished(e.Name(), filepath.Base(p)) {
			continue
		}
		if err := disk.Current().RemoveAll(filepath.Join(filepath.Dir(p), e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// unfinished reports whether name is one from tmpName for a base name.
func unfinished(name, base string) bool {
	rest, ok := strings.CutPrefix(name, tmpPrefix+base+"-")
	return ok && len(rest) == 16 && strings.Trim(rest, "0123456789abcdef") == ""
}

package storage

import (
	"bufio"
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

func (l local) Create(ctx context.Context, p string, _ int64, sync Sync, write func(io.Writer) error) error {
	if err := replace(ctx, p, write, sync); err != nil {
		return err
	}
	if sync == SyncNow {
		return disk.Current().Sync(filepath.Dir(p))
	}
	settling.add(p)
	return nil
}

// replace writes a file under a temporary name and renames it. With SyncNow its content, but not yet its
// name, is then on the disk.
func replace(ctx context.Context, p string, write func(io.Writer) error, sync Sync) error {
	perm, err := mkdirFor(filepath.Dir(p), sync == SyncLater)
	if err != nil {
		return err
	}
	tmp := tmpName(p)
	err = writeNew(ctx, tmp, write, sync, perm)
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
		if err := mkdirAll(filepath.Dir(p)); err != nil {
			return err
		}
		return mkdir(p, private)
	})
}

// Permissions of a directory, before the umask, and with rw of a file in it.
const (
	public  fs.FileMode = 0o777
	private fs.FileMode = 0o700
	rw      fs.FileMode = 0o666
)

// mkdirAll makes a directory and those above it, and syncs each before it is used.
func mkdirAll(dir string) error {
	_, err := mkdirFor(dir, false)
	return err
}

// mkdirFor is mkdirAll for files that get the returned permissions. State in a private directory is private, and so
// are the directories that are made for it.
func mkdirFor(dir string, state bool) (perm fs.FileMode, err error) {
	fi, err := disk.Current().Stat(dir)
	switch {
	case err == nil && fi.IsDir() && state && fi.Mode().Perm()&^private == 0:
		return private, nil
	case err == nil && fi.IsDir():
		return public, nil
	case err == nil:
		return 0, &fs.PathError{Op: "mkdir", Path: dir, Err: errNotDir}
	case !errors.Is(err, fs.ErrNotExist):
		return 0, err
	}
	if perm, err = mkdirFor(filepath.Dir(dir), state); err != nil {
		return 0, err
	}
	return perm, mkdir(dir, perm)
}

// mkdir makes a directory in an existing one.
func mkdir(dir string, perm fs.FileMode) error {
	if err := disk.Current().Mkdir(dir, perm); err != nil {
		if fi, statErr := disk.Current().Stat(dir); statErr == nil && fi.IsDir() {
			return nil // another process was faster
		}
		return err
	}
	return disk.Current().Sync(filepath.Dir(dir))
}

// writers are the buffers of files that are written: a new one costs more than a small file.
var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 1<<18) }}

// writeNew writes a file that must not exist.
func writeNew(ctx context.Context, p string, write func(io.Writer) error, sync Sync, perm fs.FileMode) (err error) {
	f, err := disk.Current().Create(p, perm&rw)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
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
	if sync == SyncNow {
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
	if err := mkdirAll(filepath.Dir(p)); err != nil {
		return err
	}
	tmp := tmpName(p)
	if err := disk.Current().Mkdir(tmp, public); err != nil {
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
			return writeNew(tctx, filepath.Join(tmp, f.Name), func(w io.Writer) error { return f.CopyTo(tctx, w) },
				SyncNow, public)
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

package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// These begin the names of our directories among the system's temporary files: of those in
// use, and of those whose lock is not held yet.
const (
	tempPrefix    = "bochner-tmp-"
	newTempPrefix = "bochner-new-"
)

// NewTemp creates a directory for temporary files; remove deletes it with its contents. It
// also deletes the directories of killed processes, which it recognises by a lock that nobody
// holds.
//
// The directory has its name once its lock is held: another process would take it for the directory
// of a killed one before.
func NewTemp(ctx context.Context) (dir string, remove func() error, err error) {
	removeDead(ctx)
	made, err := os.MkdirTemp("", newTempPrefix)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		if errors.Is(err, syscall.ENOENT) {
			err = errors.New("the directory does not exist")
		}
		return "", nil, exit.Refuse("pipelines: cannot create temporary files: %s: %w; create the directory or set TMPDIR "+
			"to another", os.TempDir(), err)
	}
	unlock, err := storage.Lock(ctx, filepath.Join(made, "lock"))
	if err == nil {
		parent, name := filepath.Split(made)
		dir = filepath.Join(parent, tempPrefix+strings.TrimPrefix(name, newTempPrefix))
		if err = os.Rename(made, dir); err != nil {
			unlock()
		}
	}
	if err != nil {
		os.RemoveAll(made)
		return "", nil, err
	}
	return dir, sync.OnceValue(func() error {
		defer unlock()
		return removeAll(dir)
	}), nil
}

// removeAll removes a directory. A process that looks for the dead makes its lock again when
// it comes between the removal of the lock and the removal of the directory, which is not empty
// then.
func removeAll(dir string) (err error) {
	for range 100 {
		if err = os.RemoveAll(dir); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return err
}

// removeDead removes the directories of processes that ended without removing them.
func removeDead(ctx context.Context) {
	locks, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+"*", "lock"))
	for _, lock := range locks {
		if unlock, err := storage.Lock(ctx, lock); err == nil {
			removeAll(filepath.Dir(lock))
			unlock()
		}
	}
}

// privateTemp is a temporary directory that replaces the system's while jobs run whose workers
// are this process: each of their pipelines leaves an empty file there in place of the
// workers' binary.
type privateTemp struct {
	mu     sync.Mutex
	users  int
	remove func() error
	before string // original TMPDIR
	set    bool   // TMPDIR was set
}

var tempDir privateTemp

// BorrowTemp gives jobs whose workers are this process a directory of their own for temporary files:
// TMPDIR names it until the returned function, and the functions of all concurrent borrowers, have
// been called.
func BorrowTemp(ctx context.Context) (giveBack func(), err error) { return tempDir.borrow(ctx) }

// borrow makes the directory the temporary one until the returned function, and the functions of
// all concurrent borrowers, have been called.
func (t *privateTemp) borrow(ctx context.Context) (giveBack func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users == 0 {
		dir, remove, err := NewTemp(ctx)
		if err != nil {
			return nil, err
		}
		t.remove = remove
		t.before, t.set = os.LookupEnv("TMPDIR")
		os.Setenv("TMPDIR", dir)
	}
	t.users++
	return sync.OnceFunc(t.giveBack), nil
}

func (t *privateTemp) giveBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users--; t.users > 0 {
		return
	}
	if t.set {
		os.Setenv("TMPDIR", t.before)
	} else {
		os.Unsetenv("TMPDIR")
	}
	t.remove()
}

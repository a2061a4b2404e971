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

// Prefixes of the names of our temporary directories: of directories in use, and of new ones whose
// lock is not held yet.
const (
	tempPrefix    = "bochner-tmp-"
	newTempPrefix = "bochner-new-"
)

// NewTemp creates a directory for temporary files; remove deletes it with its contents. NewTemp
// also deletes the directories of killed processes: nobody holds their locks.
//
// It gives the directory its final name after it has locked it. Otherwise another process could
// take it for the directory of a killed one.
func NewTemp(ctx context.Context) (dir string, remove func() error, err error) {
	removeDead(ctx)
	made, err := os.MkdirTemp("", newTempPrefix)
	if err != nil {
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = p.Err
		}
		if errors.Is(err, syscall.ENOENT) {
			err = errors.New("the directory does not exist")
		}
		return "", nil, exit.Dataf("cannot create temporary files: %s: %w; create the directory or set TMPDIR "+
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

// removeAll removes a directory. It tries again if the directory is not empty: a process in
// removeDead may create the lock file again after removeAll has removed it.
func removeAll(dir string) (err error) {
	for range 100 {
		if err = os.RemoveAll(dir); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return err
}

// removeDead removes the directories of killed processes.
func removeDead(ctx context.Context) {
	locks, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+"*", "lock"))
	for _, lock := range locks {
		if unlock, err := storage.Lock(ctx, lock); err == nil {
			removeAll(filepath.Dir(lock))
			unlock()
		}
	}
}

// privateTemp replaces the system's temporary directory while jobs have workers in this process:
// each of their pipelines leaves an empty file there instead of the workers' binary.
type privateTemp struct {
	mu     sync.Mutex
	users  int
	remove func() error
	before string // original TMPDIR
	set    bool   // TMPDIR was set
}

var tempDir privateTemp

// BorrowTemp sets TMPDIR to a temporary directory of this process, for jobs with workers in this process. All
// borrowers share it. TMPDIR is restored and the directory removed when each of them has called its giveBack.
func BorrowTemp(ctx context.Context) (giveBack func(), err error) { return tempDir.borrow(ctx) }

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
	t.users--
	if t.users > 0 {
		return
	}
	if t.set {
		os.Setenv("TMPDIR", t.before)
	} else {
		os.Unsetenv("TMPDIR")
	}
	t.remove()
}

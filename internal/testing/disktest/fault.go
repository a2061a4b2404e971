package disktest

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/internal/disk"
)

// Fault is a file system in which one call fails or is interrupted.
type Fault struct {
	disk.FS
	// At is the number of this call, from 1; 0 selects none.
	At int
	// When, unless nil, selects the call instead, by a text such as "rename /a/b".
	When func(call string) bool
	// Do is called before this call. If it returns an error, so does the call.
	Do func() error
	// On makes all later calls fail with the same error, as if the process or the
	// disk had died.
	On bool
	// Writes counts only calls that write or sync.
	Writes bool
	// Each, unless nil, replaces all of the above. It is called before every call, and may wait. If it
	// returns an error, so does the call; if the error is a Done, the call is still made.
	// Directories are then removed file by file, as on a disk.
	Each func(op, name string, writes bool) error

	mu    sync.Mutex
	calls int
	dead  error
	at    string
}

// Done is the error of a call that was made, but whose answer was lost.
type Done struct{ Err error }

func (d *Done) Error() string { return "the answer was lost: " + d.Err.Error() }
func (d *Done) Unwrap() error { return d.Err }

// Calls returns the number of calls.
func (f *Fault) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Hit returns the call with the number At, or "" if there were fewer calls.
func (f *Fault) Hit() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at
}

// do makes a call, unless it must fail.
func (f *Fault) do(op, name string, call func() error) error {
	err := f.call(op, name)
	if _, done := errors.AsType[*Done](err); err != nil && !done {
		return err
	}
	if failed := call(); err == nil {
		return failed
	}
	return err
}

// reads has the calls that neither write nor sync.
var reads = []string{"open", "stat", "lstat", "readdir", "read"}

func (f *Fault) call(op, name string) error {
	writes := !slices.Contains(reads, op)
	if f.Each != nil {
		if err := f.Each(op, name, writes); err != nil {
			return &fs.PathError{Op: op, Path: name, Err: err}
		}
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead != nil {
		return &fs.PathError{Op: op, Path: name, Err: f.dead}
	}
	if f.Writes && !writes {
		return nil
	}
	f.calls++
	if f.When == nil && f.calls != f.At || f.When != nil && (f.at != "" || !f.When(op+" "+name)) {
		return nil
	}
	f.at = op + " " + name
	err := f.Do()
	if err == nil {
		return nil
	}
	if f.On {
		f.dead = err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// guarded makes a call that returns a value, unless it must fail.
func guarded[T any](f *Fault, op, name string, call func(string) (T, error)) (value T, err error) {
	if err := f.call(op, name); err != nil {
		return value, err
	}
	return call(name)
}

func (f *Fault) Open(name string) (disk.File, error) {
	return guarded(f, "open", name, f.counted(f.FS.Open))
}

func (f *Fault) Create(name string, perm fs.FileMode) (disk.File, error) {
	return guarded(f, "create", name,
		f.counted(func(name string) (disk.File, error) { return f.FS.Create(name, perm) }))
}

// counted wraps the file that open opens, so that f counts its calls.
func (f *Fault) counted(open func(string) (disk.File, error)) func(string) (disk.File, error) {
	return func(name string) (disk.File, error) {
		opened, err := open(name)
		if err != nil {
			return nil, err
		}
		return &faultyFile{opened, f, name}, nil
	}
}

func (f *Fault) Stat(name string) (fs.FileInfo, error) {
	return guarded(f, "stat", name, f.FS.Stat)
}

func (f *Fault) Lstat(name string) (fs.FileInfo, error) {
	return guarded(f, "lstat", name, f.FS.Lstat)
}

func (f *Fault) ReadDir(name string) ([]fs.DirEntry, error) {
	return guarded(f, "readdir", name, f.FS.ReadDir)
}

func (f *Fault) Lock(name string) (disk.FileLock, error) {
	return guarded(f, "lock", name, f.FS.Lock)
}

func (f *Fault) Mkdir(name string, perm fs.FileMode) error {
	return f.do("mkdir", name, func() error { return f.FS.Mkdir(name, perm) })
}

func (f *Fault) Rename(from, to string) error {
	return f.do("rename", to, func() error { return f.FS.Rename(from, to) })
}

func (f *Fault) RenameNew(from, to string) error {
	return f.do("rename", to, func() error { return f.FS.RenameNew(from, to) })
}

func (f *Fault) Remove(name string) error {
	return f.do("remove", name, func() error { return f.FS.Remove(name) })
}

// RemoveAll removes the last name first if the calls have turns: no caller may rely on an order.
func (f *Fault) RemoveAll(name string) error {
	if f.Each == nil {
		return f.do("removeall", name, func() error { return f.FS.RemoveAll(name) })
	}
	entries, _ := f.FS.ReadDir(name) // there are none in a file
	for _, e := range slices.Backward(entries) {
		if err := f.RemoveAll(path.Join(name, e.Name())); err != nil {
			return err
		}
	}
	if err := f.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (f *Fault) Sync(name string) error {
	return f.do("sync", name, func() error { return f.FS.Sync(name) })
}

type faultyFile struct {
	disk.File
	f    *Fault
	name string
}

func (f *faultyFile) Read(p []byte) (int, error) {
	if err := f.f.call("read", f.name); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

// Write writes half of the data before it fails, like a full disk.
func (f *faultyFile) Write(p []byte) (int, error) {
	if err := f.f.call("write", f.name); err != nil {
		if errors.Is(err, ErrGone) {
			return 0, err
		}
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

func (f *faultyFile) Sync() error {
	return f.f.do("fsync", f.name, f.File.Sync)
}

func (f *faultyFile) Close() error {
	if err := f.f.call("close", f.name); err != nil {
		f.File.Close()
		return err
	}
	return f.File.Close()
}

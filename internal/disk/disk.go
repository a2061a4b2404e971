// Package disk is the file system as io/storage uses it: a handful of calls behind
// one interface. Tests put another file system in its place, one that fails, stops
// or forgets at a chosen call; the program itself only ever uses OS. A Process identifies
// the holder of a lock or lease; if it has ended (Gone), others may take over.
package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// FS is a file system. Names are absolute paths. Errors are as in package os.
type FS interface {
	// Open opens a file or directory for reading.
	Open(name string) (File, error)
	// Create makes a file that must not exist, for writing. The umask is applied to perm, here and in Mkdir.
	Create(name string, perm fs.FileMode) (File, error)
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Mkdir(name string, perm fs.FileMode) error
	Rename(from, to string) error
	// RenameNew renames, but fails if the new name exists.
	RenameNew(from, to string) error
	Remove(name string) error
	RemoveAll(name string) error
	// Sync brings a file, or the entries of a directory, to the disk.
	Sync(name string) error
	// Lock takes the lock of a file, which it makes where needed. It is ErrLocked if
	// another holds it, and errors.ErrUnsupported if the file system has no locks.
	Lock(name string) (FileLock, error)
}

// File is an open file.
type File interface {
	io.Reader
	io.Writer
	io.Seeker
	io.Closer
	Stat() (fs.FileInfo, error)
	Sync() error
}

// FileLock is a lock that lasts until Close or until the process ends.
type FileLock interface {
	// Note makes data the content of the lock's file.
	Note(data []byte) error
	Close() error
}

// ErrLocked is the error of a lock that another process or goroutine holds.
var ErrLocked = errors.New("disk: locked")

type box struct{ FS }

var current atomic.Pointer[box]

func init() { current.Store(&box{OS{}}) }

// Current returns the file system in use.
func Current() FS { return current.Load().FS }

// Swap puts another file system in place until restore is called. It is for tests.
func Swap(f FS) (restore func()) {
	before := current.Swap(&box{f})
	return func() { current.Store(before) }
}

// OS is the file system of the operating system.
type OS struct{}

var _ FS = OS{}

// Open does not wait for the writer of a pipe.
func (OS) Open(name string) (File, error) {
	return opened(os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0))
}

func (OS) Create(name string, perm fs.FileMode) (File, error) {
	return opened(os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm))
}

// opened keeps a nil *os.File from becoming a File.
func opened(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (OS) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (OS) Lstat(name string) (fs.FileInfo, error)     { return os.Lstat(name) }
func (OS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (OS) Mkdir(name string, perm fs.FileMode) error  { return os.Mkdir(name, perm) }
func (OS) Rename(from, to string) error               { return os.Rename(from, to) }
func (OS) RenameNew(from, to string) error            { return renameNew(from, to) }
func (OS) Remove(name string) error                   { return os.Remove(name) }
func (OS) RemoveAll(name string) error                { return os.RemoveAll(name) }
func (OS) Lock(name string) (FileLock, error)         { return lock(name) }

// Sync ignores that a file system cannot sync directories: not every one can.
func (OS) Sync(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// Process is a process that holds a lock or lease.
type Process struct {
	Host string `json:"host"`
	ID   int    `json:"process"`
	// Boot identifies the running system and its namespace of process ids. Begun is the time
	// at which the process began. Both are empty if unknown.
	Boot  string `json:"boot,omitempty"`
	Begun string `json:"begun,omitempty"`
	Lease string `json:"lease,omitempty"` // distinguishes the leases of a process
}

// Me is this process.
var Me = sync.OnceValue(func() Process {
	host, _ := os.Hostname() // for messages
	pid := os.Getpid()
	begun, _ := processBegun(pid)
	return Process{Host: host, ID: pid, Boot: bootID(), Begun: begun}
})

// Gone reports whether the process is known to have ended, which is known only on the same system.
func (p Process) Gone() bool {
	if p.Boot == "" || p.Boot != Me().Boot || p.Begun == "" {
		return false
	}
	begun, err := processBegun(p.ID)
	return err == nil && begun != p.Begun
}

// Package disk is the file system as io/storage uses it: a handful of calls behind
// one interface. Tests put another file system in its place, one that fails, stops
// or forgets at a chosen call; the program itself only ever uses OS. A Process identifies
// the holder of a lock or lease; if it has ended (Gone), others may take over.
package disk

import (
	"errors"
	"io"
	"io/fs"
	"sync/atomic"
)

// FS is a file system. Names are absolute paths. Errors are as in package os.
type FS interface {
	// Open opens a file or directory for reading.
	Open(name string) (File, error)
	// Create makes a file that must not exist, for writing; private means that only its owner may use it.
	Create(name string, private bool) (File, error)
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Mkdir(name string, private bool) error
	Rename(from, to string) error
	// RenameNew renames, but fails if the new name exists.
	RenameNew(from, to string) error
	Remove(name string) error
	RemoveAll(name string) error
	// Sync brings a file, or the entries of a directory, to the disk.
	Sync(name string) error
	// Lock takes the lock of a file, which it makes where needed. It is ErrLocked if
	// another holds it, and errors.ErrUnsupported if the file system has no locks.
	Lock(name string) (Held, error)
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

// Held is a lock that lasts until Close or until the process ends.
type Held interface {
	// Note makes data the content of the lock's file.
	Note(data []byte) error
	Close() error
}

// ErrLocked says that another holds a lock.
var ErrLocked = errors.New("disk: locked")

type box struct{ FS }

var current atomic.Pointer[box]

func init() { current.Store(&box{OS{}}) }

// Now returns the file system in use.
func Now() FS { return current.Load().FS }

// Swap puts another file system in place until restore is called. It is for tests.
func Swap(f FS) (restore func()) {
	before := current.Swap(&box{f})
	return func() { current.Store(before) }
}

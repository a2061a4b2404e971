//go:build unix

package storage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// Lock takes a lock by the name of a file, which it makes where needed, and
// returns the function that gives it back. The system gives the lock back when
// the process ends, however it ends. A lock that another process holds is an
// error at once.
func Lock(ctx context.Context, uri string) (unlock func(), err error) {
	p, err := path(uri)
	if err != nil {
		return nil, fail("lock", uri, err)
	}
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		return nil, fail("lock", uri, err)
	}
	f, err := os.OpenFile(p, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fail("lock", uri, err)
	}
	if err := flock(f, p); err != nil {
		f.Close()
		return nil, fail("lock", uri, err)
	}
	return func() { f.Close() }, nil
}

func flock(f *os.File, p string) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errBusy
	}
	if err != nil {
		return err
	}
	// The holder may have removed the file just before it gave the lock back: then
	// this is the lock of a file that the next process does not find.
	held, err := f.Stat()
	if err != nil {
		return err
	}
	if named, err := os.Stat(p); err != nil || !os.SameFile(held, named) {
		return errBusy
	}
	return nil
}

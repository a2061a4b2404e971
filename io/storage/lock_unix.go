//go:build unix

package storage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

func (local) lock(ctx context.Context, uri string) (unlock func(), err error) {
	p, err := path(uri)
	if err != nil {
		return nil, err
	}
	for {
		f, err := lockFile(p)
		if err != nil {
			return nil, err
		}
		// Whoever had the lock may have removed its file meanwhile: then another
		// file has the name, or none, and a lock on this one keeps nobody out.
		same, err := sameFile(f, p)
		if same {
			return func() { f.Close() }, nil
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
}

func lockFile(p string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(p, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errBusy
		}
		return nil, err
	}
	return f, nil
}

func sameFile(f *os.File, p string) (bool, error) {
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, named), err
}

//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// flocked is a file with an advisory lock, which the system releases when the process
// ends, however it ends.
type flocked struct{ *os.File }

// Note does nothing if this process may not write the file, because another user made it.
func (l flocked) Note(data []byte) error {
	if err := l.Truncate(0); err != nil {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) {
			return nil
		}
		return err
	}
	_, err := l.WriteAt(data, 0)
	return err
}

// lock locks the file of that name. It tries again if the file was replaced before it was locked.
func lock(name string) (FileLock, error) {
	for {
		f, err := lockFile(name)
		if err != nil {
			return nil, err
		}
		// Whoever had the lock may have removed its file meanwhile: then another
		// file has the name, or none, and a lock on this one keeps nobody out.
		same, err := sameFile(f, name)
		if same {
			return flocked{f}, nil
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
}

// lockFile opens or creates a file and locks it without waiting. It returns ErrLocked if another holds the lock, and
// errors.ErrUnsupported if the file system has no locks.
func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if errors.Is(err, fs.ErrPermission) {
		// What another user has left can be locked all the same, if it can be read.
		if readable, readErr := os.Open(name); readErr == nil {
			f, err = readable, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			err = ErrLocked
		case errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.EBADF),
			errors.Is(err, errors.ErrUnsupported):
			err = errors.ErrUnsupported
		}
		return nil, err
	}
	return f, nil
}

func sameFile(f *os.File, name string) (bool, error) {
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, named), err
}

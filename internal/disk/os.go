package disk

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// OS is the file system of the operating system.
type OS struct{}

var _ FS = OS{}

// Open does not wait for the writer of a pipe.
func (OS) Open(name string) (File, error) {
	return opened(os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0))
}

func (OS) Create(name string, private bool) (File, error) {
	return opened(os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode(private)&0o666))
}

// mode returns the permissions of a new directory, to which the umask is applied.
func mode(private bool) fs.FileMode {
	if private {
		return 0o700
	}
	return 0o777
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
func (OS) Mkdir(name string, private bool) error      { return os.Mkdir(name, mode(private)) }
func (OS) Rename(from, to string) error               { return os.Rename(from, to) }
func (OS) RenameNew(from, to string) error            { return renameNew(from, to) }
func (OS) Remove(name string) error                   { return os.Remove(name) }
func (OS) RemoveAll(name string) error                { return os.RemoveAll(name) }
func (OS) Lock(name string) (Held, error)             { return lock(name) }

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

package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNew renames a directory, but fails if the new name exists. A plain rename
// would replace an empty directory.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return os.Rename(from, to) // a file system without the flag
	}
	return err
}

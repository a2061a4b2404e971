//go:build !linux

package disk

import "os"

// renameNew renames a directory, but fails if the new name exists, unless that is an empty directory.
func renameNew(from, to string) error { return os.Rename(from, to) }

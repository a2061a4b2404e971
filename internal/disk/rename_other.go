//go:build !linux

package disk

import "os"

// renameNew renames a directory to a name that nothing may have yet; an empty
// directory of that name may be replaced.
func renameNew(from, to string) error { return os.Rename(from, to) }

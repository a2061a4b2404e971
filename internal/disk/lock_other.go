//go:build !unix

package disk

import "errors"

// lock is not available on systems that have no advisory file locks.
func lock(string) (FileLock, error) { return nil, errors.ErrUnsupported }

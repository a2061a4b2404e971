package storage

import (
	"io/fs"
	"strconv"
	"syscall"
)

// changed tells when the content or the attributes of a file changed last, in
// nanoseconds. Unlike the time of modification, nobody can set it.
func changed(fi fs.FileInfo) int64 {
	if s, ok := fi.Sys().(*syscall.Stat_t); ok {
		return s.Ctim.Nano()
	}
	return 0
}

// identity names the file that a name stands for: two names with the same identity
// are links to one file. It is empty where that is not known.
func identity(fi fs.FileInfo) string {
	if s, ok := fi.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(s.Dev, 36) + "." + strconv.FormatUint(s.Ino, 36)
	}
	return ""
}

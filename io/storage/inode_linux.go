package storage

import (
	"io/fs"
	"strconv"
	"syscall"
)

// changeTime returns the time of the last change of the content or attributes of a file, in
// nanoseconds since 1970. Unlike the time of modification, programs cannot set it.
func changeTime(fi fs.FileInfo) int64 {
	if s, ok := fi.Sys().(*syscall.Stat_t); ok {
		return s.Ctim.Nano()
	}
	return 0
}

// identity identifies the file behind a name: two names with the same identity are links
// to one file. It is empty if unknown.
func identity(fi fs.FileInfo) string {
	if s, ok := fi.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(s.Dev, 36) + "." + strconv.FormatUint(s.Ino, 36)
	}
	return ""
}

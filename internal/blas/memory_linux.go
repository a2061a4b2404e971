package blas

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// largePages asks for large pages under the whole pages of b. Whether they are there
// changes nothing but time, so a refusal is no error.
func largePages(b []byte) {
	page := os.Getpagesize()
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (page - 1)
	if end := skip + (len(b)-skip)/page*page; end > skip {
		_ = unix.Madvise(b[skip:end], unix.MADV_HUGEPAGE)
	}
}

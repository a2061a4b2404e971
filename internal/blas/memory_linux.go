package blas

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// largePages asks for large pages under b, and under the whole of those that b begins and ends
// in: of a page that it owns in part, the rest is that of its neighbours in the heap. Whether
// they are there changes nothing but time, so a refusal is no error.
func largePages(b []byte) {
	const page = 2 << 20
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	end := (start + uintptr(len(b)) + page - 1) &^ (page - 1)
	start &^= page - 1
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, start, end-start, unix.MADV_HUGEPAGE)
}

package blas

import "golang.org/x/sys/unix"

// adviseLarge asks for large pages under the bytes from start on, and under the whole of those that
// they begin and end in: the rest of these belongs to neighbours in the heap. They change nothing
// but the time, so a refusal is ignored.
func adviseLarge(start, bytes uintptr) {
	const page = 2 << 20
	end := (start + bytes + page - 1) &^ (page - 1)
	start &^= page - 1
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, start, end-start, unix.MADV_HUGEPAGE)
}

package blas

import (
	"unsafe"

	"github.com/bochner-ml/bochner/internal/machine"
)

const (
	line = 64 // bytes of a cache line

	// large is the size from which memory is asked for in large pages: less than a
	// tile, of which many lie side by side.
	large = 1 << 19
)

// Make returns n zeros that start on a cache line, for a block or a matrix. What is
// large lies in large pages where the system grants them: where a hypervisor gives out
// memory, the first touch of each small page takes as long as a thousand products. It
// panics if a limit of the process leaves no room for what is large.
func Make[T int8 | int16 | float32 | float64](n int) []T {
	var t T
	size := int(unsafe.Sizeof(t))
	if n*size >= large {
		machine.Room(n * size)
	}
	s := make([]T, n)
	if fromLine(s) != 0 { // not where n is large, which starts on a page
		s = make([]T, n+line/size)
		off := (line - fromLine(s)) % line / size
		s = s[off : off+n : off+n]
	}
	if bytes := n * size; bytes >= large {
		largePages(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), bytes))
	}
	return s
}

// fromLine returns how many bytes behind the start of a cache line s starts.
func fromLine[T any](s []T) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(s)))) & (line - 1)
}

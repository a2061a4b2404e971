package blas

import (
	"runtime"
	"unsafe"

	"github.com/bochner-ml/bochner/internal/machine"
	workers "github.com/bochner-ml/bochner/internal/parallel"
)

const (
	line = 64 // bytes of a cache line

	// large is the size from which memory is asked for in large pages: less than a
	// tile, of which many lie side by side.
	large = 1 << 19
)

// Make returns n zeros that start on a cache line, for a block or a matrix. Large memory is in large
// pages if the system grants them: under a hypervisor, the first touch of each small page takes as long
// as a thousand products. Make panics if a limit of the process leaves no room for large memory.
func Make[T int8 | int16 | float32 | float64](n int) []T {
	s := reserve[T](n)
	largePages(s)
	return s
}

// MakeEach calls Make for each length, with nil for 0, and lets all processors touch the memory. That
// makes memory cheaper that is read before it is written: otherwise the system would first map shared
// pages of zeros, and then interrupt all processors for each page that is written.
func MakeEach[T float32 | float64](lengths []int) [][]T {
	var t T
	threads, page := runtime.GOMAXPROCS(0), 4096/int(unsafe.Sizeof(t))
	all := make([][]T, len(lengths))
	workers.Each(len(all), threads, func(_, i int) {
		if lengths[i] > 0 {
			all[i] = reserve[T](lengths[i])
		}
	})
	for _, s := range all { // not while another touches some: the system would have it wait
		largePages(s)
	}
	workers.Each(len(all), threads, func(_, i int) {
		for at := 0; at < len(all[i]); at += page {
			all[i][at] = 0
		}
	})
	return all
}

// reserve is Make before it asks for large pages.
func reserve[T int8 | int16 | float32 | float64](n int) []T {
	var t T
	size := int(unsafe.Sizeof(t))
	if n*size >= large {
		machine.MustHave(n * size)
	}
	s := make([]T, n)
	if fromLine(s) != 0 { // not where n is large, which starts on a page
		s = make([]T, n+line/size)
		off := (line - fromLine(s)) % line / size
		s = s[off : off+n : off+n]
	}
	return s
}

// largePages asks for large pages under s if it is large.
func largePages[T int8 | int16 | float32 | float64](s []T) {
	var t T
	if size := len(s) * int(unsafe.Sizeof(t)); size >= large {
		adviseLarge(uintptr(unsafe.Pointer(unsafe.SliceData(s))), uintptr(size))
	}
}

// fromLine returns how many bytes after the start of a cache line s starts.
func fromLine[T any](s []T) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(s)))) & (line - 1)
}

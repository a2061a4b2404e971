//go:build unix

package machine

import "golang.org/x/sys/unix"

func addressLimit() limits {
	get := func(resource int) int64 {
		var r unix.Rlimit
		if unix.Getrlimit(resource, &r) != nil || r.Cur >= 1<<60 {
			return none
		}
		return int64(r.Cur)
	}
	return limits{get(unix.RLIMIT_AS), get(unix.RLIMIT_DATA)}
}

// mappable reports whether the process can have further bytes.
func mappable(bytes int) bool {
	b, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return false
	}
	return unix.Munmap(b) == nil
}

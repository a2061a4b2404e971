package blas

import (
	"time"

	"golang.org/x/sys/unix"
)

// clock returns the CPU time this process has used, so that figures hold on a
// machine which has other things to do.
func clock() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

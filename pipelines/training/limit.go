package training

import (
	"time"
)

// limit divides a total time among consecutive runs.
type limit struct {
	begun time.Time
	total time.Duration // 0 for none
}

// share returns the time that a run may take if that many runs remain; false if no time is left.
func (l limit) share(runs int) (time.Duration, bool) {
	if l.total == 0 {
		return 0, true
	}
	left := l.total - time.Since(l.begun)
	return max(1, left/time.Duration(runs)), left > 0
}

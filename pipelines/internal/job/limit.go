package job

import "time"

// Limit divides a total time among consecutive runs.
type Limit struct {
	Begun time.Time
	Total time.Duration // 0 for none
	Least time.Duration // least time that a run is expected to take; 0 if unknown
}

// Share returns the time for the next run if that many runs remain. It returns false if less than Least is
// left.
func (l Limit) Share(runs int) (time.Duration, bool) {
	if l.Total == 0 {
		return 0, true
	}
	left := l.Total - time.Since(l.Begun)
	return max(1, left/time.Duration(runs)), left > l.Least
}

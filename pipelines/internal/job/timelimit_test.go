package job

import (
	"testing"
	"time"

	"github.com/bochner-ml/bochner/models/iterative"
)

// A limit shares the time that is left among the remaining runs.
func TestTimeLimitIsSharedByRemainingRuns(t *testing.T) {
	l := Limit{Begun: time.Now().Add(-4 * time.Second), Total: 10 * time.Second}
	if share, left := l.Share(3); !left || share > 2*time.Second || share < time.Nanosecond {
		t.Errorf("a third of six seconds is %s, %v", share, left)
	}
	if _, left := (Limit{Begun: time.Now().Add(-time.Minute), Total: time.Second}).Share(2); left {
		t.Error("time is left after the limit")
	}
	for least, want := range map[time.Duration]bool{5 * time.Second: true, 7 * time.Second: false} {
		l.Least = least
		if _, left := l.Share(1); left != want {
			t.Errorf("six seconds are enough for a run of at least %s: %v", least, left)
		}
	}
}

// A round begins if half of it is expected to be within the time, or if it is needed.
func TestRoundsEndNearTheTime(t *testing.T) {
	for _, c := range []struct {
		last   time.Duration
		needed int
		want   bool
	}{{time.Second, 2, false}, {3 * time.Second, 2, true}, {3 * time.Second, 3, false}} {
		i := &Iteration{History: make([]iterative.Report, 3)}
		o := RoundOptions{Stop: iterative.Stop{Rounds: 100, Time: 10 * time.Second}, Needed: c.needed}
		if got := i.stop(o, 9*time.Second, c.last); got != c.want {
			t.Errorf("%+v: ended %v, %s", c, got, i.Ended)
		}
	}
}

package job

import (
	"testing"
	"time"
)

// A limit shares what is left among the runs to come.
func TestATimeLimitIsSharedByTheRunsToCome(t *testing.T) {
	l := Limit{time.Now().Add(-4 * time.Second), 10 * time.Second}
	if share, left := l.Share(3); !left || share > 2*time.Second || share < time.Nanosecond {
		t.Errorf("a third of six seconds is %s, %v", share, left)
	}
	if _, left := (Limit{time.Now().Add(-time.Minute), time.Second}).Share(2); left {
		t.Error("time is left after the limit")
	}
}

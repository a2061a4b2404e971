package job

import (
	"context"
	"testing"
)

func TestTimedAddsUpRepeatedStages(t *testing.T) {
	j := &Job{Seconds: map[string]float64{"add": 5}}
	if err := j.Timed(t.Context(), "add", func(context.Context) error { return nil }); err != nil || j.Seconds["add"] < 5 {
		t.Errorf("%v, %g seconds, want at least 5", err, j.Seconds["add"])
	}
}

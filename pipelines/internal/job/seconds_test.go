package job

import "testing"

func TestTimeAddsUpRepeatedParts(t *testing.T) {
	j := &Job{Seconds: map[string]float64{"add": 5}}
	j.Time("add")()
	if j.Seconds["add"] < 5 {
		t.Errorf("%g seconds, want at least 5", j.Seconds["add"])
	}
}

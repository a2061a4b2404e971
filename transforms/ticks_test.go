package transforms

import (
	"slices"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Ticks on Flink come from no splittable function, since Flink's runner keeps state in memory for every time
// that such a function resumes.
func TestTicksOnFlinkComeFromNoSplittableFunction(t *testing.T) {
	for _, flink := range []bool{false, true} {
		p, s := beam.NewPipelineWithRoot()
		Ticks(s, 1500*time.Millisecond, flink)
		edges, _, err := p.Build()
		if err != nil {
			t.Fatal(err)
		}
		splittable, source := false, ""
		for _, e := range edges {
			splittable = splittable || e.DoFn != nil && e.DoFn.IsSplittable()
			if e.Payload != nil {
				source = e.Payload.URN + string(e.Payload.Data)
			}
		}
		want := ""
		if flink {
			want = flinkImpulse + `{"interval_ms": 1500}`
		}
		if splittable == flink || source != want {
			t.Errorf("on Flink %t: splittable %t, source %q", flink, splittable, source)
		}
	}
}

// Every subtask of Flink's source ticks: one passes in each interval, and one after they have waited.
func TestOneTickPerIntervalPasses(t *testing.T) {
	const every = 100
	next, passed := int64(0), []int64{}
	for _, now := range []int64{1000, 1040, 1101, 1141, 1230, 1242, 1302, 1342, 2000, 2000, 2001, 2040, 2101, 2141} {
		var due bool
		if next, due = nextTick(now, next, every); due {
			passed = append(passed, now)
		}
	}
	if want := []int64{1000, 1101, 1230, 1302, 2000, 2101}; !slices.Equal(passed, want) {
		t.Errorf("ticks at %v, want %v", passed, want)
	}
}

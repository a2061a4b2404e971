package pipelines

import (
	"reflect"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
)

// A threshold changes the decision but not the sets: both models have the same lambda.
func TestSetsDoNotDependOnAThreshold(t *testing.T) {
	lines := jobtest.Made(t, "moons", 1500, 3)
	plain, decided := weightedOptions(t, lines, ""), weightedOptions(t, lines, "")
	plain.Calibrate, decided.Calibrate = "auto", "auto"
	decided.Threshold = "f1"
	_, _, want := mustTrain(t, plain)
	_, _, got := mustTrain(t, decided)
	if want.Intervals == nil || want.Learner.Lambda != got.Learner.Lambda || got.Threshold == nil ||
		want.Learner.Lambda == want.Learner.Table[0].Lambda {
		t.Fatalf("intervals %v, lambda %g and %g, threshold %v", want.Intervals, want.Learner.Lambda, got.Learner.Lambda,
			got.Threshold)
	}
	if !reflect.DeepEqual(want.Intervals, got.Intervals) {
		t.Error("the conformity scores differ")
	}
}

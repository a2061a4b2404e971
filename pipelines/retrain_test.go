package pipelines

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/jobtest"
	"github.com/bochner-ml/bochner/pipelines/retrain"
	"github.com/bochner-ml/bochner/pipelines/spec"
)

// What models that are fitted to sums cannot have is refused on the first night, whose model could.
func TestRetrainingRefusesWhatSumsDoNotHave(t *testing.T) {
	dir := t.TempDir()
	for flag, set := range map[string]func(*TrainOptions){
		"--calibrate": func(o *TrainOptions) { o.Calibrate = "platt" },
		"--threshold": func(o *TrainOptions) { o.Threshold = "f1" },
		"--label":     func(o *TrainOptions) { o.Data.Label = "a,b" },
		"--select":    func(o *TrainOptions) { o.Lambda.Select = spec.SelectLogLoss },
	} {
		n := newNights(fortnight, diskStops{}, dir+"/models", dir+"/data", dir+"/data")
		n.o.Day = dayName(2)
		set(&n.o.Train)
		if r, err := Retrain(jobtest.Ctx, n.o); r != nil || exit.Code(err) != exit.CodeUsage || !strings.HasPrefix(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
	n := newNights(fortnight, diskStops{}, dir+"/models", dir+"/data", dir+"/data")
	n.o.Day, n.o.Train.Calibrate = dayName(2), "none"
	n.arrive(t, 1)
	if r, err := Retrain(jobtest.Ctx, n.o); r == nil || r.Outcome != retrain.Nothing {
		t.Errorf("without probabilities: %+v, %v", r, err)
	}
}

package pipelines

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/jobtest"
	"github.com/bochner-ml/bochner/pipelines/retrain"
	"github.com/bochner-ml/bochner/pipelines/spec"
	"github.com/bochner-ml/bochner/pipelines/tuning"
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

// Later nights choose λ by what their sums have, the squared errors of all folds, so the first does,
// too, whatever a training by itself would do after a search.
func TestTheFirstNightChoosesLambdaAsLaterOnes(t *testing.T) {
	dir := t.TempDir()
	n := newNights(calendar{days: 3}, diskStops{}, dir+"/models", dir+"/data", dir+"/data")
	n.o.Train.Search, n.o.Train.Lambda, n.o.Gate, n.o.PairedGate = tuning.Auto, spec.LambdaOptions{}, "", "not worse by 99 % at 50 %"
	n.arrive(t, 1)
	for day := 2; day <= 3; day++ {
		n.arrive(t, day)
		n.o.Day = dayName(day)
		r, err := Retrain(jobtest.Ctx, n.o)
		if err != nil || r.Outcome != retrain.Promoted {
			t.Fatalf("day %d: %+v, %v", day, r, err)
		}
		m, err := models.ReadManifest(jobtest.Ctx, n.reg.Place(r.Model))
		if err != nil {
			t.Fatal(err)
		}
		if l := m.Learner; l.Select != "" || l.Folds != 5 || len(l.Table) < 3 {
			t.Errorf("day %d: lambda is chosen by %q on %d folds from %d values", day, l.Select, l.Folds, len(l.Table))
		}
	}
}

package pipelines

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Options that models fitted to sums cannot have are rejected on the first night, whose own model could have
// them.
func TestRetrainRejectsOptionsOfOtherLearners(t *testing.T) {
	dir := t.TempDir()
	for flag, set := range map[string]func(*options.Train){
		"--calibrate": func(o *options.Train) { o.Calibrate = "isotonic" },
		"--threshold": func(o *options.Train) { o.Threshold = "f1" },
		"--label":     func(o *options.Train) { o.Data.Label = "a,b" },
		"--select":    func(o *options.Train) { o.Lambda.Select = options.SelectLogLoss },
		"--recipe":    func(o *options.Train) { o.Recipe = dir },
		"--model":     func(o *options.Train) { o.Model = dir },
		"--work":      func(o *options.Train) { o.Job.Work = dir },
		"--resume":    func(o *options.Train) { o.Job.Resume = true },
	} {
		n := newNights(fortnight, diskStops{}, dir+"/models", dir+"/data", dir+"/data")
		n.o.Day = dayName(2)
		set(&n.o.Train)
		if r, err := Retrain(jobtest.Ctx, n.o); r != nil || exit.CodeOf(err) != exit.CodeUsage ||
			!strings.HasPrefix(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
	n := newNights(fortnight, diskStops{}, dir+"/models", dir+"/data", dir+"/data")
	n.o.Day, n.o.Train.Calibrate = dayName(2), "none"
	n.arrive(t, 1)
	if r, err := Retrain(jobtest.Ctx, n.o); r == nil || r.Outcome != results.Nothing {
		t.Errorf("without probabilities: %+v, %v", r, err)
	}
}

// With calibrate: platt the models of all nights have probabilities, by which they can be judged. If the
// champion's recipe lacks the shapes of curves, a recipe with shapes is drawn.
func TestModelsOfAllNightsHaveProbabilities(t *testing.T) {
	dir := t.TempDir()
	n := newNights(calendar{days: 5}, diskStops{}, dir+"/models", dir+"/data", dir+"/data")
	for day := 1; day <= 5; day++ {
		n.arrive(t, day)
		if n.o.Day = dayName(day); day == 1 {
			continue
		}
		if day == 3 {
			n.o.Train.Calibrate, n.o.Gate, n.o.Settings = "platt", "log_loss<=0.69", "platt"
		}
		r, err := Retrain(jobtest.Ctx, n.o)
		if err != nil || r.Outcome != results.Promoted || (r.Redrawn != "") != (day < 4) {
			t.Fatalf("day %d: %v\n%s", day, err, r.Text())
		}
		m, err := models.ReadManifest(jobtest.Ctx, dir+"/models/"+r.Champion)
		if err != nil || (m.Probabilities != nil) != (day > 2) {
			t.Errorf("day %d: probabilities %+v, %v", day, m.Probabilities, err)
		}
	}
}

// All rows of a later window are later than the rows that a recipe holds out. Then a recipe is drawn from them.
func TestNightsHoldOutTheLatestRows(t *testing.T) {
	dir := t.TempDir()
	n := newNights(calendar{days: 5, window: 3}, diskStops{}, dir+"/models", dir+"/data", dir+"/data")
	n.o.Train.Data.Time, n.o.Train.Split.Time = "t", true
	n.o.Train.Lambda.Path, n.o.MaxDrift, n.o.Gate, n.o.PairedGate = []float64{1e-4, 1e-2}, 0, "", options.NoGate
	for day := 1; day <= 5; day++ {
		lines := strings.Fields(dailyCSV(day, 1))
		for i := range lines[1:] {
			lines[i+1] += fmt.Sprintf(",%d", 1000*day+i)
		}
		n.put(t, day, lines[0]+",t\n"+strings.Join(lines[1:], "\n")+"\n")
		if n.o.Day = dayName(day); day == 1 {
			continue
		}
		r, err := Retrain(jobtest.Ctx, n.o)
		if err != nil {
			t.Fatalf("day %d: %v", day, err)
		}
		if redrawn := day == 2 || day == 4; (r.Redrawn != "") != redrawn {
			t.Errorf("day %d: redrawn %q", day, r.Redrawn)
		}
	}
}

// Without a PairedGate, the default of the command decides about a champion; options.NoGate promotes without a
// condition.
func TestZeroPairedGateIsTheDefault(t *testing.T) {
	var o options.Retrain
	option.List(&o)
	if o.PairedGate != options.NewRetrain().PairedGate {
		t.Errorf("the default of the command is %q", o.PairedGate)
	}
	for gate, want := range map[string][]string{"": {"error " + options.NewRetrain().PairedGate}, options.NoGate: nil} {
		dir := t.TempDir()
		n := newNights(calendar{days: 3}, diskStops{}, dir+"/models", dir+"/data", dir+"/data")
		n.o.Gate, n.o.PairedGate = "", gate
		var r *results.Retrain
		for day := 1; day <= 3; day++ {
			n.arrive(t, day)
			if n.o.Day = dayName(day); day == 1 {
				continue
			}
			var err error
			if r, err = Retrain(jobtest.Ctx, n.o); r == nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, g := range r.Gates {
			got = append(got, g.Condition)
		}
		if !slices.Equal(got, want) || gate == options.NoGate && r.Outcome != results.Promoted {
			t.Errorf("gate %q: conditions %q, want %q\n%s", gate, got, want, r.Text())
		}
	}
}

// Gates on scores that the models do not have are rejected before anything is trained, on the first night and
// on a later one with other gates.
func TestGatesThatDoNotFitAreRejectedBeforeTraining(t *testing.T) {
	dir := t.TempDir()
	n := newNights(calendar{days: 3}, diskStops{}, dir+"/models", dir+"/data", dir+"/data")
	gate, pairedGate := n.o.Gate, n.o.PairedGate
	for day := 1; day <= 3; day++ {
		n.arrive(t, day)
	}
	softmax := jobtest.Iterative("sgd", func(s *iterative.Shared) { s.Rounds = 1 })
	for _, day := range []int{2, 3} {
		n.o.Day = dayName(day)
		for _, c := range []struct {
			name, gate, paired string
			set                func(*options.Train)
			want               string // "" where the gates fit
		}{
			{"numbers, of classes", "", "rmse better at 90%", nil,
				`--paired_gate: paired: "rmse better at 90%": these models are not compared by rmse; have error`},
			{"probabilities, of a ridge", "", "log_loss better at 90%", nil, "--paired_gate: paired: "},
			{"a score of numbers, of classes", "rmse<=1", "", nil, "--gate: this model has no rmse; it has accuracy"},
			{"a score of probabilities, of a ridge", "log_loss<=1", "", nil, "--gate: this model has no log_loss"},
			{"classes, of numbers", "", "error better at 90%",
				func(o *options.Train) {
					o.Data.Label, o.Task, o.Data.Drop = "a", "regression",
						[]string{"y"}
				}, `--paired_gate: paired: "error better at 90%": these models are not compared by error; have mse, rmse, mae`},
			{"probabilities, of a softmax", "log_loss<=100", "log_loss not worse by 99% at 50%",
				func(o *options.Train) { o.Learner = softmax }, ""},
		} {
			if day == 3 && c.set != nil {
				continue // the champion has classes
			}
			before := modelsIn(t, dir+"/models")
			train := n.o.Train
			if n.o.Gate, n.o.PairedGate = c.gate, c.paired; c.set != nil {
				c.set(&n.o.Train)
			}
			var log strings.Builder
			n.o.Train.Job.Log = &log
			o := n.o
			n.o.Train = train
			if c.want == "" {
				o.Models = dir + "/others"
			}
			_, err := Retrain(jobtest.Ctx, o)
			if c.want == "" {
				if err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
				continue
			}
			jobtest.WantError(t, c.name, err, exit.CodeUsage, c.want)
			summed := strings.Contains(log.String(), "summing") && day == 3 // the first night compares days
			if after := modelsIn(t, dir+"/models"); !slices.Equal(before, after) ||
				strings.Contains(log.String(), "training on") || summed {
				t.Errorf("day %d, %s: was trained: %v, before %v\n%s", day, c.name, after, before, log.String())
			}
		}
		n.o.Gate, n.o.PairedGate = gate, pairedGate
		if r, err := Retrain(jobtest.Ctx, n.o); err != nil || r.Outcome != results.Promoted {
			t.Fatalf("day %d: %+v, %v", day, r, err)
		}
	}
}

// modelsIn lists a directory of models, without what is not a model.
func modelsIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// The first night chooses λ by the squared errors of all folds, as later nights do from their sums, and not as
// a training run does after a search.
func TestFirstNightChoosesLambdaAsLaterOnes(t *testing.T) {
	dir := t.TempDir()
	n := newNights(calendar{days: 3}, diskStops{}, dir+"/models", dir+"/data", dir+"/data")
	n.o.Train.Search, n.o.Train.Lambda, n.o.Gate, n.o.PairedGate = options.SearchAuto, options.Lambda{}, "",
		"not worse by 99% at 50%"
	n.arrive(t, 1)
	for day := 2; day <= 3; day++ {
		n.arrive(t, day)
		n.o.Day = dayName(day)
		r, err := Retrain(jobtest.Ctx, n.o)
		if err != nil || r.Outcome != results.Promoted {
			t.Fatalf("day %d: %+v, %v", day, r, err)
		}
		m, err := models.ReadManifest(jobtest.Ctx, n.reg.ModelDir(r.Model))
		if err != nil {
			t.Fatal(err)
		}
		if got := jobtest.Text(t, r); m.Rows != r.Rows ||
			!strings.Contains(got, fmt.Sprintf(": %d rows used, 0 set aside\n", m.Rows.Used)) {
			t.Errorf("day %d: rows %+v, want %+v\n%s", day, r.Rows, m.Rows, got)
		}
		if l := m.Learner; l.Select != "" || l.Folds != 5 || len(l.Table) < 3 {
			t.Errorf("day %d: lambda is chosen by %q on %d folds from %d values", day, l.Select, l.Folds, len(l.Table))
		}
	}
}

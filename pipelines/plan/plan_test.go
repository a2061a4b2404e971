package plan

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/internal/testing/realdata"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/imageio"
	"github.com/bochner-ml/bochner/io/libsvmio"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/engine"
	_ "github.com/bochner-ml/bochner/pipelines/engine/remote" // plans for Dataflow
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/options"
)

func plan(t *testing.T, o options.Train) *Plan {
	t.Helper()
	o.Model = t.TempDir() + "/model"
	o.Search = cmp.Or(o.Search, options.SearchNone)
	p, err := Training(jobtest.Ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func planned(t *testing.T, lines int, features int) *Plan {
	text := strings.Join(jobtest.Made(t, "moons", int64(lines), 1), "")
	name := jobtest.Write(t, t.TempDir(), "d.csv", text)
	return plan(t, options.Train{Prepare: options.Prepare{
		Data: dataset.Options{Files: []string{name}, Label: "y"}, Kernel: &fourier.GaussianOptions{Features: features},
	}, Decision: options.Decision{Calibrate: "none"}}) // otherwise rows of scores are kept, up to so many
}

func TestPlansMatchTraining(t *testing.T) {
	p := planned(t, 2000, 512)
	if p.Rows != 2000 || !p.Exact || !p.Whole || p.Outputs != 2 || p.Files != 1 || p.Columns != 2 || p.Format != "csv" ||
		p.Passes != 3 || p.Readers != 1 {
		t.Errorf("%+v", p)
	}
	if p.Lambdas != len(ridge.AutoLambda()) || p.Folds != 5 || p.Features != 512 {
		t.Errorf("%+v", p)
	}
	// Five sums of 512×512 lower triangles of float64 are 5 MB at least.
	if least := int64(5 * 512 * 512 / 2 * 8); p.WorkerBytes < least || p.WorkerBytes > 4*least || p.Stored < least {
		t.Errorf("a worker takes %d bytes, %d are stored", p.WorkerBytes, p.Stored)
	}
	if least := int64(512 * 512 * 8); p.SolveBytes < least || p.SolveBytes > 8*least {
		t.Errorf("to solve takes %d bytes", p.SolveBytes)
	}
	for _, word := range []string{"2,000, of 2 numbers, 2 classes", "3 over the data", "512 features", "8 values",
		"5 folds"} {
		if !strings.Contains(jobtest.Text(t, p), word) {
			t.Errorf("%q is not in\n%s", word, jobtest.Text(t, p))
		}
	}
}

// A search reads the rows once more, and its memory is in the plan.
func TestPlansListTheSearch(t *testing.T) {
	name := jobtest.Write(t, t.TempDir(), "d.csv", strings.Join(jobtest.Made(t, "moons", 9000, 1), ""))
	o := options.Train{Prepare: options.Prepare{Data: dataset.Options{Files: []string{name}, Label: "y"},
		Kernel: &fourier.GaussianOptions{Features: 64}}}
	o.Lambda.Path = []float64{1e-3}
	none := plan(t, o)
	o.Search = options.SearchAuto
	with := plan(t, o)
	// The sum and the system of 2,048 features.
	if least := int64(2048 * 2048 * 8); with.PeakBytes < none.PeakBytes+least || with.Passes != none.Passes+1 ||
		with.Searched != 9000 || none.Searched != 0 {
		t.Errorf("%+v, without a search %+v", with, none)
	}
	if want := "of features that a search finds, on at most 9,000 rows"; !strings.Contains(jobtest.Text(t, with), want) {
		t.Errorf("%q is not in\n%s", want, jobtest.Text(t, with))
	}
	o.Kernel = &fourier.GaussianOptions{Features: 64, Width: 2}
	if set := plan(t, o); set.Searched != 0 || set.Unsearched != "" || set.PeakBytes != none.PeakBytes {
		t.Errorf("with a width %+v, without a search %+v", set, none)
	}
	few := options.Train{Prepare: options.Prepare{Data: dataset.Options{Files: []string{jobtest.Write(t, t.TempDir(),
		"few.csv", strings.Join(jobtest.Made(t, "moons", 30, 1), ""))}, Label: "y"}}, Search: options.SearchAuto}
	if p := plan(t, few); p.Searched != 0 ||
		!strings.Contains(jobtest.Text(t, p), "features that are not searched: there are fewer than 40 rows") {
		t.Errorf("%+v\n%s", p, jobtest.Text(t, p))
	}
}

func TestPlansOfCalibrationsHaveTwoPassesMore(t *testing.T) {
	name := jobtest.Write(t, t.TempDir(), "d.csv", strings.Join(jobtest.Made(t, "moons", 500, 1), ""))
	o := options.Train{Prepare: options.Prepare{Data: dataset.Options{Files: []string{name}, Label: "y"},
		Kernel: &fourier.GaussianOptions{Features: 512}}}
	o.Lambda.Path = []float64{1e-3}
	without := plan(t, o)
	o.Calibrate = "platt"
	with := plan(t, o)
	one := ridge.Shape{Dim: 512, Outputs: 2}.Bytes()
	if with.Passes != 4 || with.Folds != 1 || with.WorkerBytes-without.WorkerBytes < one ||
		with.SolveBytes != without.SolveBytes ||
		with.Stored != 2*without.Stored {
		t.Errorf("%+v, without %+v", with, without)
	}
	if !strings.Contains(jobtest.Text(t, with), "4 over the data: one to profile it, one to train, one to "+
		"calibrate, one to measure intervals") {
		t.Error(jobtest.Text(t, with))
	}
}

// A plan counts two passes for each round of the game, and before the first one a sample and the classes. The
// training run plays as many rounds as the plan states.
func TestPlansCountThePassesThatFindFeatures(t *testing.T) {
	name := jobtest.Write(t, t.TempDir(), "d.csv", strings.Join(jobtest.Made(t, "moons", 200, 1), ""))
	o := options.Train{
		Prepare: options.Prepare{Data: dataset.Options{Files: []string{name}, Label: "y"},
			Kernel: &learned.Options{Features: 50}},
		Lambda:  options.Lambda{Path: []float64{1e-4}},
		Learned: options.Game{Take: 10, Chains: 100, Steps: 5, Sample: 150},
	}
	p := plan(t, o) // 25 frequencies
	if p.Game != 3 || p.Passes != 2+1+1+2*3 || p.Pipelines != 2+1+4 {
		t.Errorf("%+v", p)
	}
	if want := "10 over the data: one to profile it, one to train, one for the sample of feature learning, 7 for 3 rounds of a game"; !strings.Contains(jobtest.Text(t, p), want) {
		t.Errorf("%q is not in\n%s", want, jobtest.Text(t, p))
	}
	made := o
	made.Model = t.TempDir() + "/model"
	r, err := training.Run(jobtest.Ctx, made)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Learned.Game.Round; got < p.Game || got > p.Game+1 {
		t.Errorf("%d rounds of the game, the plan has %d", got, p.Game)
	}
	for name, test := range map[string]struct {
		kernel       kernel.Options
		by           options.LearnedBy
		learner      string
		passes, game int
	}{
		"lkrf":      {o.Kernel, "lkrf", "", 3, 0},
		"harmonics": {&learned.HarmonicOptions{Features: 50}, "", "", 3, 0},
		"rounds":    {o.Kernel, "", "svm", 1 + (4 + 1) + 1 + 7, 3},
	} {
		o := o
		o.Kernel, o.Learned.By = test.kernel, test.by
		if test.learner != "" {
			o.Learner = jobtest.Iterative(test.learner, func(s *iterative.Shared) { s.Rounds = 4 })
		}
		if p := plan(t, o); p.Passes != test.passes || p.Game != test.game {
			t.Errorf("%s: %d passes, want %d; %+v", name, p.Passes, test.passes, p)
		}
	}
	o.Job.Engine.Runner = engine.Dataflow
	if got := jobtest.Text(t, plan(t, o)); !strings.Contains(got, "search for features ") {
		t.Error(got)
	}
	o.Learned.By = "lkrf"
	if got := jobtest.Text(t, plan(t, o)); strings.Contains(got, "search for features ") {
		t.Error(got)
	}
}

// Memory depends on the features and not on the rows.
func TestPlannedMemoryIsIndependentOfTheRows(t *testing.T) {
	few, many, wide := planned(t, 10_000, 256), planned(t, 20_000, 256), planned(t, 10_000, 1024)
	if few.WorkerBytes != many.WorkerBytes || few.SolveBytes != many.SolveBytes ||
		few.Stored != many.Stored || few.PeakBytes != many.PeakBytes {
		t.Errorf("10,000 rows: %+v\n20,000 rows: %+v", few, many)
	}
	if wide.SolveBytes < 6*few.SolveBytes || wide.WorkerBytes < 4*few.WorkerBytes {
		t.Errorf("256 features: %+v\n1,024: %+v", few, wide)
	}
}

func TestPlansOfWideRowsUseSmallerBlocks(t *testing.T) {
	o := options.Train{Prepare: options.Prepare{
		Data: dataset.Options{Files: []string{jobtest.Write(t, t.TempDir(), "d", "1 1:1\n-1 2:1\n")},
			Formats: []dataset.FormatOptions{libsvmio.Options{Dim: 1 << 20}}},
		Kernel: &fourier.GaussianOptions{Features: 64},
	}}
	if p := plan(t, o); p.WorkerBytes > 1<<30 {
		t.Errorf("rows of a million numbers: %d bytes a worker", p.WorkerBytes)
	}
	o.Data.Formats = nil
	if p := plan(t, o); p.Columns != 2 {
		t.Errorf("%+v", p)
	}
}

func TestPlansRejectLikeTraining(t *testing.T) {
	name := jobtest.Write(t, t.TempDir(), "d.csv", "a,y\n1,2\n")
	_, err := Training(jobtest.Ctx, options.Train{Model: "m"})
	jobtest.WantError(t, "no data", err, exit.CodeUsage, "--data")
	_, err = Training(jobtest.Ctx, options.Train{Model: "m",
		Prepare: options.Prepare{Data: dataset.Options{Files: []string{name}}}})
	jobtest.WantError(t, "no label", err, exit.CodeUsage, "--label")
	_, err = Training(jobtest.Ctx, options.Train{Model: "m",
		Prepare: options.Prepare{Data: dataset.Options{Files: []string{name}, Label: "y"},
			Kernel: &fourier.GaussianOptions{Features: 1 << 20}}})
	jobtest.WantError(t, "too many features", err, exit.CodeUsage, "features")
	named := jobtest.Write(t, t.TempDir(), "d.csv", identified)
	_, err = Training(jobtest.Ctx, options.Train{Model: "m",
		Prepare: options.Prepare{Data: dataset.Options{Files: []string{named}, Label: "name"}}})
	jobtest.WantError(t, "identifiers as labels", err, exit.CodeData, "each of the 200 rows has a label of its own")
}

// identified is a table of numbers and a column of identifiers.
var identified = func() string {
	text := "name,a,b,y\n"
	for i := range 200 {
		text += fmt.Sprintf("user-%d,%d.5,%d.5,%d.5\n", i, i%14, i%15, i%13)
	}
	return text
}()

// A table whose identifier columns are dropped is planned exactly, as plain numbers.
func TestPlanWithoutIdentifierColumnsIsExact(t *testing.T) {
	p := plan(t,
		options.Train{Prepare: options.Prepare{Data: dataset.Options{Files: []string{jobtest.Write(t, t.TempDir(), "d.csv",
			identified)}, Label: "y"}}})
	if p.Rows != 200 || p.Columns != 2 || !p.Exact {
		t.Errorf("%+v", p)
	}
}

func TestPlanOfMNISTFilesIsExact(t *testing.T) {
	dir := realdata.Path(t, "mnist")
	p := plan(t, options.Train{Prepare: options.Prepare{Data: dataset.Options{
		Files:   []string{dir + "/train-images*"},
		Formats: []dataset.FormatOptions{imageio.Options{LabelFiles: []string{dir + "/train-labels*"}}},
	}}})
	if p.Rows != 60_000 || !p.Exact || p.Columns != 784 || p.Format != "idx" {
		t.Errorf("%+v", p)
	}
}

package pipelines

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/synthetic"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/models/sgd"
	"github.com/bochner-ml/bochner/models/svm"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// chance returns lines of classes that their numbers say nothing about, most of them
// of class 0: any learned model does worse on other rows than the constant 0.
func chance(n int) []string {
	lines := []string{"a,b,y\n"}
	for i := range n {
		class := 0
		if i%5 == 0 {
			class = 1
		}
		lines = append(lines, fmt.Sprintf("%d.5,%d.25,%d\n", i*7919%101, i*104729%97, class))
	}
	return lines
}

func TestCertificateOfEveryTrainingHolds(t *testing.T) {
	moons, numbers := jobtest.Made(t, "moons", 400, 1), jobtest.Made(t, "friedman", 300, 1)
	type change func(*options.Train)
	for name, c := range map[string]struct {
		lines []string
		held  bool // the weights were fitted without the first fold
		change
	}{
		"one lambda":           {moons, false, func(o *options.Train) {}},
		"no folds":             {moons, false, func(o *options.Train) { o.Lambda.Folds = 1 }},
		"folds":                {moons, true, func(o *options.Train) { o.Lambda.Folds = 7 }},
		"calibrated":           {moons, false, func(o *options.Train) { o.Calibrate = score.Platt }},
		"calibrated, by folds": {moons, false, func(o *options.Train) { o.Calibrate, o.Lambda.Folds = score.Platt, 7 }},
		"path":                 {moons, false, func(o *options.Train) { o.Lambda.Path = []float64{1e-2, 1e-3} }},
		"path, calibrated": {moons, false,
			func(o *options.Train) { o.Lambda.Path, o.Calibrate = []float64{1e-2, 1e-3}, score.Isotonic }},
		"early end": {moons, true, func(o *options.Train) { o.Learner.(*svm.LearnerOptions).Patience = 2 }},
		"early end, calibrated": {moons, false,
			func(o *options.Train) { o.Learner.(*svm.LearnerOptions).Patience, o.Calibrate = 1, score.Platt }},
		"early end of a path": {moons, false,
			func(o *options.Train) {
				o.Learner.(*svm.LearnerOptions).Patience, o.Lambda.Path = 1, []float64{1e-2, 1e-3}
			}},
		"end before the first step": {chance(400), true,
			func(o *options.Train) { o.Learner.(*svm.LearnerOptions).Patience, o.Lambda.Path = 1, []float64{1e-6} }},
		"partitions": {moons, false, func(o *options.Train) { o.Learner.(*svm.LearnerOptions).Partitions = 3 }},
		"partitions, early end": {moons, true,
			func(o *options.Train) {
				o.Learner.(*svm.LearnerOptions).Partitions, o.Learner.(*svm.LearnerOptions).Patience = 3, 2
			}},
		"no intercept":             {moons, false, func(o *options.Train) { o.Learner.(*svm.LearnerOptions).Bias = 0 }},
		"a large constant feature": {moons, false, func(o *options.Train) { o.Learner.(*svm.LearnerOptions).Bias = 10 }},
		"balanced classes": {moons, false,
			func(o *options.Train) { o.Learner.(*svm.LearnerOptions).Weights = []string{"balanced"} }},
		"a class that weighs more": {moons, false,
			func(o *options.Train) { o.Learner.(*svm.LearnerOptions).Weights = []string{"1=3"} }},
		"logistic": {moons, false, func(o *options.Train) { o.Learner.(*svm.LearnerOptions).Loss = "logistic" }},
		"squared hinge": {moons, false,
			func(o *options.Train) { o.Learner.(*svm.LearnerOptions).Loss = "squared_hinge" }},
		"numbers":            {numbers, false, func(o *options.Train) {}},
		"numbers, early end": {numbers, true, func(o *options.Train) { o.Learner.(*svm.LearnerOptions).Patience = 2 }},
		"huber":              {numbers, false, func(o *options.Train) { o.Learner.(*svm.LearnerOptions).Loss = "huber" }},
		"learned features": {moons, false, func(o *options.Train) {
			o.Kernel = &learned.Options{Features: 8}
			o.Learned = options.Game{Chains: 8, Steps: 4, Take: 4}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			o := fixed(3)
			o.Lambda.Path = []float64{1e-3}
			o.Learner = &svm.LearnerOptions{Shared: iterative.Shared{Stop: iterative.Stop{Rounds: 6, Gap: 1e-9}}, Bias: 1}
			c.change(&o)
			dir := t.TempDir()
			o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "data.csv", strings.Join(c.lines, ""))}, Label: "y"}
			o.Model = filepath.Join(dir, "model")
			trained, err := trainPlain(jobtest.Ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			held := int64(0)
			if c.held {
				folds := uint64(cmp.Or(o.Lambda.Folds, spec.DefaultFolds))
				for _, line := range c.lines[1:] {
					if x, _ := parse(t, line); foldOf(o.Seed, x, folds) == 0 {
						held++
					}
				}
			}
			if all := int64(len(c.lines) - 1); trained.Log.Rows != all-held || trained.Log.HeldOutRows != held {
				t.Fatalf("%d rows were learned from and %d held out, of %d; want %d held out", trained.Log.Rows,
					trained.Log.HeldOutRows, all, held)
			}
			if zero := trained.Log.Rounds == 0; zero != (name == "end before the first step") {
				t.Fatalf("the weights are those after %d rounds", trained.Log.Rounds)
			}
			v, err := VerifyOptimum(jobtest.Ctx, options.VerifyOptimum{Model: o.Model, Data: o.Data})
			if err != nil {
				t.Fatal(err)
			}
			if got := v.Certificate; !v.Holds || got.Rows != trained.Log.Rows || got.Gap < 0 || !got.Same {
				t.Errorf("%+v", v)
			}
		})
	}
}

func TestContinuedModelHasItsOwnCertificate(t *testing.T) {
	dir := t.TempDir()
	data := dataset.Options{Files: []string{jobtest.Write(t, dir, "data.csv", strings.Join(chance(400), ""))}, Label: "y"}
	train := func(model string, change func(*options.Train)) {
		t.Helper()
		o := fixed(3)
		o.Data, o.Model, o.Lambda.Path = data, filepath.Join(dir, model), []float64{1e-6}
		o.Learner = &svm.LearnerOptions{Shared: iterative.Shared{Stop: iterative.Stop{Rounds: 4, Gap: 1e-9}}, Bias: 1}
		change(&o)
		if _, err := trainPlain(jobtest.Ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	train("first", func(*options.Train) {})
	train("on", func(o *options.Train) {
		o.Learner.(*svm.LearnerOptions).Init, o.Lambda.Path = filepath.Join(dir, "first"), []float64{1e-3}
	})
	if v, err := VerifyOptimum(jobtest.Ctx, options.VerifyOptimum{Model: filepath.Join(dir, "on"), Data: data}); err != nil || !v.Holds {
		t.Errorf("%+v, %v", v, err)
	}
	// Weights that are taken as they came have none.
	train("same", func(o *options.Train) {
		o.Learner.(*svm.LearnerOptions).Time, o.Learner.(*svm.LearnerOptions).Init = time.Nanosecond, filepath.Join(dir, "first")
	})
	_, err := VerifyOptimum(jobtest.Ctx, options.VerifyOptimum{Model: filepath.Join(dir, "same"), Data: data})
	jobtest.WantError(t, "the weights of the model before", err, exit.CodeUsage, "for which there are no dual variables")
}

// The number of rounds in a job does not change the model, although the final state may be one of an earlier
// job.
func TestRoundsPerJobDoNotAffectTheModel(t *testing.T) {
	set, _ := synthetic.Find("moons")
	var text strings.Builder
	if err := set.WriteCSV(jobtest.Ctx, &text, 300, 1, 0.5); err != nil { // noise, so that what is learned helps by chance
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(text.String(), "\n"), "\n")
	ended := map[string]bool{}
	for _, seed := range []uint64{3, 4, 5} {
		var want []float32
		for _, jobs := range []int{1, 4, 10} {
			o := fixed(seed)
			o.Scale, o.Kernel = nil, &fourier.GaussianOptions{Features: 32}
			o.Lambda.Path = []float64{0}
			o.Learner = &sgd.LearnerOptions{Shared: iterative.Shared{Stop: iterative.Stop{Rounds: 30, Patience: 2},
				Running: iterative.Running{Partitions: 2, PerJob: jobs}}, Rate: 3, Batch: 8}
			r, m := trainedModel(t, lines, o)
			ended[strings.TrimLeft(r.Log.Ended, "0123456789 ")] = true
			if want == nil {
				want = m.Linear.W
			}
			if fmt.Sprint(m.Linear.W) != fmt.Sprint(want) {
				t.Errorf("seed %d: other weights of %d rounds in a job", seed, jobs)
			}
		}
	}
	if !ended["rounds have not lowered the held-out error"] {
		t.Errorf("patience has ended none: %v", ended)
	}
}

func TestPatienceWithoutHeldOutRowsIsRejected(t *testing.T) {
	dir := t.TempDir()
	o := fixed(1)
	o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "data.csv",
		strings.Join(jobtest.Made(t, "moons", 60, 1), ""))}, Label: "y"}
	o.Model, o.Lambda = filepath.Join(dir, "model"), options.Lambda{Path: []float64{1e-3}, Folds: 1}
	o.Learner = &svm.LearnerOptions{Shared: iterative.Shared{Stop: iterative.Stop{Patience: 2}}, Bias: 1}
	_, err := trainPlain(jobtest.Ctx, o)
	jobtest.WantError(t, "patience", err, exit.CodeUsage, "--patience needs held-out rows")
	if _, err := os.Stat(filepath.Join(o.Model, models.ManifestFile)); err == nil {
		t.Error("a model was made")
	}
}

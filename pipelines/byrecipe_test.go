package pipelines

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/svm"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
)

func TestRecipeRejectsOptionsThatItDetermines(t *testing.T) {
	decided := func(err error, flag string) bool {
		return exit.CodeOf(err) == exit.CodeUsage && strings.Contains(err.Error(), "--"+flag) &&
			strings.Contains(err.Error(), "which decides it")
	}
	for flag, set := range map[string]func(*options.Train){
		"seed":         func(o *options.Train) { o.Seed = 7 },
		"scale":        func(o *options.Train) { o.Scale = []string{"unit"} },
		"search":       func(o *options.Train) { o.Search = options.SearchNone },
		"group_column": func(o *options.Train) { o.Split.Group = []string{"who"} },
		"drop":         func(o *options.Train) { o.Data.Drop = []string{"x"} },
		"worth":        func(o *options.Train) { o.Size.MinGain = 0.01 },
		"kernel":       func(o *options.Train) { o.Kernel = &fourier.GaussianOptions{} },
		"learner":      func(o *options.Train) { o.Learner = svm.NewLearnerOptions() },
	} {
		o := options.NewTrain()
		o.Recipe, o.Model = t.TempDir(), t.TempDir()+"/model"
		set(&o)
		if _, err := Train(jobtest.Ctx, o); !decided(err, flag) {
			t.Errorf("train with --%s: %v", flag, err)
		}
	}
	for flag, set := range map[string]func(*options.TwoSample){
		"seed":   func(o *options.TwoSample) { o.Seed = 7 },
		"kernel": func(o *options.TwoSample) { o.Kernel = &fourier.GaussianOptions{} },
	} {
		o := options.NewTwoSample()
		o.A, o.B, o.Recipe = "a.csv", "b.csv", t.TempDir()
		set(&o)
		if _, err := TwoSample(jobtest.Ctx, o); !decided(err, flag) {
			t.Errorf("test with --%s: %v", flag, err)
		}
	}
	for name, o := range map[string]options.Train{"zero value": {}, "defaults": options.NewTrain()} {
		o.Recipe, o.Model, o.MaxBadFraction, o.Calibrate = t.TempDir(), t.TempDir()+"/model", 0.5, options.CalibrationPlatt
		o.Data = dataset.Options{Files: []string{"a.csv"}, Label: "y", Roles: dataset.Roles{Weight: "w"}}
		if _, err := Train(jobtest.Ctx, o); err == nil || decided(err, "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

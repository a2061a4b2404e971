package pipelines

import (
	"path/filepath"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// The seconds that a job reports exclude earlier jobs of the process: on one reader, stages that do not overlap
// take no longer than the job.
func TestJobSecondsExcludeEarlierJobs(t *testing.T) {
	train := func(rows, features int) *results.Train {
		t.Helper()
		data := filepath.Join(t.TempDir(), "data.csv")
		if _, err := Generate(jobtest.Ctx, options.Generate{Set: "moons", Rows: int64(rows), Seed: 1, Noise: -1,
			Out: data}); err != nil {
			t.Fatal(err)
		}
		r, err := trainPlain(jobtest.Ctx, options.Train{
			Prepare: options.Prepare{Data: dataset.Options{Files: []string{data}, Label: "y"},
				Kernel: &fourier.GaussianOptions{Features: features}, Seed: 1},
			Model: filepath.Join(t.TempDir(), "model"), Lambda: options.Lambda{Path: []float64{1e-6}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	train(20_000, 512)
	r := train(50, 16)
	var work, wall float64
	for stage, s := range r.Work {
		if stage != "read" {
			work += s
		}
	}
	for _, s := range r.Seconds {
		wall += s
	}
	if r.Work["read"] <= 0 || r.Work["map"] <= 0 || work <= 0 || work > wall {
		t.Errorf("work of %g s, %v, in a job of %g s", work, r.Work, wall)
	}
}

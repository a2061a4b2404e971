package training

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// A worker with little memory adds up stripes of the sums, whole folds at first and then parts of them, and the
// directory of the model is the same, byte for byte.
func TestModelDoesNotDependOnTheMemoryOfAWorker(t *testing.T) {
	dir := t.TempDir()
	name := jobtest.Write(t, dir, "d.csv", strings.Join(jobtest.Made(t, "moons", 1300, 1), ""))
	train := func(bytes int64) (files map[string]string, log string) {
		var lines strings.Builder
		o := options.Train{
			Prepare: options.Prepare{Kernel: &fourier.GaussianOptions{Features: 1200}, Seed: 1},
			Model:   filepath.Join(t.TempDir(), "model"),
			Search:  options.NoSearch, Decision: options.Decision{Calibrate: "platt"},
		}
		o.Data.Files, o.Data.Label = []string{name}, "y"
		o.Lambda.Path = []float64{1e-3, 1e-5}
		o.Job.Engine.WorkerBytes, o.Job.Engine.Threads, o.Job.Log = bytes, 1, &lines
		if _, err := Run(jobtest.Ctx, o); err != nil {
			t.Fatal(err)
		}
		files = map[string]string{}
		entries, err := os.ReadDir(o.Model)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			data, err := os.ReadFile(filepath.Join(o.Model, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			files[e.Name()] = string(data)
		}
		return files, lines.String()
	}
	want, log := train(0)
	if strings.Contains(log, "stripes") || len(want) < 3 {
		t.Fatalf("%d files; %s", len(want), log)
	}
	for _, c := range []struct {
		bytes int64
		words string
	}{{102 << 20, "added up in 3 stripes"}, {86 << 20, "added up in 15 stripes"}} {
		if c.bytes > 100<<20 && !campaign.Whole() {
			continue
		}
		got, log := train(c.bytes)
		if !strings.Contains(log, c.words) {
			t.Errorf("%q is not in %s", c.words, log)
		}
		for name, data := range want {
			if got[name] != data {
				t.Errorf("%d bytes: another %s", c.bytes, name)
			}
		}
	}
}

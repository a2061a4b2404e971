package pipelines

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// The logger of a Go program stays the same and gets no lines of the jobs, unless Verbose is set.
func TestJobDoesNotLogUnlessAsked(t *testing.T) {
	var heard strings.Builder
	before := slog.Default()
	defer slog.SetDefault(before)
	theirs := slog.New(slog.NewTextHandler(&heard, nil))
	slog.SetDefault(theirs)
	dir := t.TempDir()
	data := dataset.Options{Files: []string{filepath.Join(dir, "data.csv")}, Label: "y"}
	if _, err := Generate(jobtest.Ctx, options.Generate{Set: "moons", Rows: 100, Seed: 1, Noise: -1,
		Out: data.Files[0]}); err != nil {
		t.Fatal(err)
	}
	train := func(verbose bool) {
		t.Helper()
		_, err := trainPlain(jobtest.Ctx, options.Train{
			Prepare: options.Prepare{Data: data, Kernel: &fourier.GaussianOptions{Features: 16}, Seed: 1,
				Job: options.Job{Engine: engine.Engine{Verbose: verbose}}},
			Model: filepath.Join(t.TempDir(), "model"), Lambda: options.Lambda{Path: []float64{1e-6}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	train(false)
	if slog.Default() != theirs || heard.Len() > 0 {
		t.Errorf("replaced: %v; heard %q", slog.Default() != theirs, heard.String())
	}
	train(true)
	if !strings.Contains(heard.String(), "direct runner") || !strings.Contains(heard.String(), "reader ended: pass=") {
		t.Errorf("with Verbose, heard %q", heard.String())
	}
	heard.Reset()
	beamlog.Info(context.Background(), "of a pipeline of their own")
	if !strings.Contains(heard.String(), "of a pipeline of their own") {
		t.Errorf("of the program's own pipelines, heard %q", heard.String())
	}
}

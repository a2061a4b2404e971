package training

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/synthetic"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// setProducts sets smallProducts and maxCheapProducts until the end of the test.
func setProducts(t *testing.T, small, cheap float64) {
	t.Helper()
	wasSmall, wasCheap := smallProducts, maxCheapProducts
	t.Cleanup(func() { smallProducts, maxCheapProducts = wasSmall, wasCheap })
	smallProducts, maxCheapProducts = small, cheap
}

// The grid follows from the size of the job and from λ, unless the user sets it. The manifest names it.
func TestGridIsChosenAndNamed(t *testing.T) {
	lines := jobtest.Made(t, "moons", 300, 1)
	for _, c := range []struct {
		grid   string
		lambda float64
		small  float64
		steps  int
		note   string
	}{
		{"auto", 1e-3, smallProducts, ridge.FineSteps, ""},
		{"auto", 1e-3, 0, features.ByteSteps, ""},
		{"auto", 1e-9, 0, ridge.FineSteps, ""},
		{"8", 1e-3, smallProducts, features.ByteSteps, ""},
		{"8", 1e-9, smallProducts, features.ByteSteps, "acts like a lambda of 1.6e-07 on top of lambda 1e-09; --grid 16 is finer"},
		{"16", 1e-3, 0, ridge.FineSteps, ""},
		{"16", 1e-14, 0, ridge.FineSteps, "no finer grid is available"},
	} {
		setProducts(t, c.small, maxCheapProducts)
		o := options.Train{
			Prepare: options.Prepare{Kernel: &fourier.GaussianOptions{Features: 64}, Seed: 1},
			Model:   filepath.Join(t.TempDir(), "model"), Lambda: options.Lambda{Path: []float64{c.lambda}},
			Learner: &ridge.LearnerOptions{Grid: features.Bits(c.grid)}, Search: "none",
		}
		o.Data.Files, o.Data.Label = []string{jobtest.Write(t, t.TempDir(), "d.csv", strings.Join(lines, ""))}, "y"
		var log strings.Builder
		o.Job.Log = &log
		result, err := Run(jobtest.Ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		m, err := models.LoadURI(jobtest.Ctx, o.Model)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(log.String(), "summing again") {
			t.Errorf("%+v: the rows were summed twice for a lambda that is given", c)
		}
		if result.Steps != c.steps || m.Manifest.Learner.Steps != c.steps {
			t.Errorf("%+v: %d steps, in the manifest %d", c, result.Steps, m.Manifest.Learner.Steps)
		}
		if notes := strings.Join(result.Notes, "\n"); c.note == "" && strings.Contains(notes, "rounding") ||
			!strings.Contains(notes, c.note) {
			t.Errorf("%+v: %s", c, notes)
		}
	}
}

// If a path leads to a λ for which 8 bits are too coarse, the model has 16 bits, and nothing is fitted on 8. A
// λ near the rounding of 8 bits is fitted on 8 if smaller ones are worse.
func TestPathOnACoarseGridIsNotFitted(t *testing.T) {
	campaign.Long(t)
	setProducts(t, 0, maxCheapProducts)
	data := jobtest.Write(t, t.TempDir(), "d.csv", strings.Join(jobtest.Made(t, "friedman", 1100, 1), ""))
	for _, c := range []struct {
		path  []float64
		steps int
	}{{[]float64{9e-8, 1, 10, 100}, ridge.FineSteps}, {[]float64{1e-9, 1e-8, 3e-8, 9e-8}, features.ByteSteps}} {
		fitOnCoarseGrid(t, data, c.path, c.steps)
	}
}

// A large job keeps 8 bits if only a smaller λ might be better, and reports that. It uses 16 if rounding is a
// part of the error.
func TestLargeJobsAreSummedAgainOnlyForRounding(t *testing.T) {
	setProducts(t, 0, 0)
	set, _ := synthetic.Find("friedman")
	for _, c := range []struct {
		rows     int64
		features int
		lambda   float64 // the least
		noise    float64
		steps    int
	}{
		{5000, 512, 1e-8, 1, features.ByteSteps}, {5000, 512, 1e-8, 0, ridge.FineSteps},
		{1100, 1024, 9e-8, 1, features.ByteSteps}, // a path that a small job ends on the first fold
	} {
		var text strings.Builder
		if err := set.WriteCSV(jobtest.Ctx, &text, c.rows, 1, c.noise); err != nil {
			t.Fatal(err)
		}
		data := jobtest.Write(t, t.TempDir(), "d.csv", text.String())
		o := options.Train{
			Prepare: options.Prepare{Kernel: &fourier.GaussianOptions{Features: c.features}, Seed: 1},
			Model:   filepath.Join(t.TempDir(), "model"), Lambda: options.Lambda{Path: []float64{c.lambda, 1, 10, 100}},
			Learner: &ridge.LearnerOptions{Grid: features.AutoBits}, Search: "none",
		}
		o.Data.Files, o.Data.Label = []string{data}, "y"
		r, err := Run(jobtest.Ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Steps != c.steps {
			t.Errorf("%+v: %d steps", c, r.Steps)
		}
		if c.steps == features.ByteSteps && !strings.Contains(strings.Join(r.Notes, "\n"), "--grid 16 is finer") {
			t.Errorf("%+v: no note on rounding: %q", c, r.Notes)
		}
	}
}

func fitOnCoarseGrid(t *testing.T, data string, path []float64, steps int) {
	t.Helper()
	same := features.Bits8
	if steps == ridge.FineSteps {
		same = features.Bits16
	}
	var models [2]string
	var notes strings.Builder
	for i, grid := range []features.Bits{features.AutoBits, same} {
		o := options.Train{
			Prepare: options.Prepare{Kernel: &fourier.GaussianOptions{Features: 1024}, Seed: 1},
			Model:   filepath.Join(t.TempDir(), "model"), Lambda: options.Lambda{Path: path}, Learner: &ridge.LearnerOptions{Grid: grid},
			Search: "none",
		}
		o.Data.Files, o.Data.Label = []string{data}, "y"
		if grid == features.AutoBits {
			o.Job.Log = &notes
		}
		r, err := Run(jobtest.Ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Steps != steps {
			t.Errorf("from %g on, %s: %d steps", path[0], grid, r.Steps)
		}
		weights, err := os.ReadFile(filepath.Join(o.Model, "weights.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		models[i] = string(weights)
	}
	if models[0] != models[1] {
		t.Errorf("from %g on: another model than on %s bits", path[0], same)
	}
	if again := strings.Contains(notes.String(), "summing again"); again != (same == features.Bits16) {
		t.Errorf("from %g on: the rows were summed twice: %v: %s", path[0], again, notes.String())
	}
}

package pipelines

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/prismtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

func TestMain(m *testing.M) {
	engine.Register(engine.Local{Name: "prism", Readers: prismtest.Readers, Beam: prismtest.Run})
	os.Exit(m.Run())
}

// trainPlain trains without a search unless the options name one: it would take most of the time of
// most tests.
func trainPlain(ctx context.Context, o options.Train) (*results.Train, error) {
	o.Search = cmp.Or(o.Search, options.NoSearch)
	return Train(ctx, o)
}

// A running process finds the new model after the model in its directory was replaced.
func TestReplacedModelIsUsed(t *testing.T) {
	dir := t.TempDir()
	data := dataset.Options{Files: []string{filepath.Join(dir, "train.csv")}, Label: "y"}
	if _, err := Generate(t.Context(), options.Generate{Set: "moons", Rows: 300, Seed: 1, Noise: -1,
		Out: data.Files[0]}); err != nil {
		t.Fatal(err)
	}
	model := filepath.Join(dir, "model")
	var accuracies []float64
	for _, features := range []int{2, 128} {
		if err := os.RemoveAll(model); err != nil {
			t.Fatal(err)
		}
		o := options.Train{
			Prepare: options.Prepare{Data: data, Kernel: &fourier.GaussianOptions{Features: features}, Seed: 1},
			Model:   model, Lambda: options.Lambda{Path: []float64{1e-6}},
		}
		if _, err := trainPlain(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		r, err := Evaluate(t.Context(), options.Evaluate{Model: model, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		accuracies = append(accuracies, r.Classes.Accuracy)
	}
	if !(accuracies[1] > accuracies[0]) {
		t.Errorf("accuracies %v: the second model was not used", accuracies)
	}
}

package pipelines

import (
	"errors"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// A model that exists is another one only if training again shows it; an error on the way is returned.
func TestExistingModelReportsErrors(t *testing.T) {
	dir := t.TempDir()
	train := func(lambda float64) func(string) error {
		return func(model string) error {
			_, err := Train(jobtest.Ctx, options.Train{Search: options.NoSearch, Model: model, Lambda: lambdaOf(lambda),
				Prepare: options.Prepare{Data: dataset.Options{Files: []string{dir + "/rows.csv"}, Label: "y"},
					Kernel: &fourier.GaussianOptions{Features: 16}, Seed: 1}})
			return err
		}
	}
	jobtest.Write(t, dir, "rows.csv", "a,y\n1,in\n2,out\n3,in\n5,out\n")
	model := dir + "/model"
	if err := train(1e-3)(model); err != nil {
		t.Fatal(err)
	}
	if m, err := existingModel(jobtest.Ctx, model, train(1e-3)); err != nil || m == nil {
		t.Errorf("the same model: %v, %v", m, err)
	}
	for name, train := range map[string]func(string) error{model: train(1e-2), dir + "/none": train(1e-3)} {
		if m, err := existingModel(jobtest.Ctx, name, train); err != nil || m != nil {
			t.Errorf("another model than %s: %v, %v", name, m, err)
		}
	}
	failed := errors.New("no connection")
	if _, err := existingModel(jobtest.Ctx, model, func(string) error { return failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	jobtest.Write(t, model, "manifest.json", "{}")
	if _, err := existingModel(jobtest.Ctx, model, train(1e-3)); !errors.Is(err, models.ErrBadModel) {
		t.Error(err)
	}
}

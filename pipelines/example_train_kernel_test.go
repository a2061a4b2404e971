package pipelines_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// moons makes a table of two classes, and the spec of sinc features for it.
func moons(ctx context.Context, dir string) (options.Prepare, error) {
	name := filepath.Join(dir, "moons.csv")
	_, err := pipelines.Generate(ctx, options.Generate{Set: "moons", Rows: 400, Seed: 1, Noise: -1, Out: name})
	return options.Prepare{Data: dataset.Options{Files: []string{name}, Label: "y"},
		Kernel: &sincOptions{Features: 256, Width: 0.4}, Seed: 1}, err
}

// A kernel of another package is trained like the kernels of this module: its options are
// options.Train.Kernel, and flags of the command line.
func ExampleTrain_kernelOfAnotherPackage() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	spec, err := moons(ctx, dir)
	if err != nil {
		log.Fatal(err)
	}
	model := filepath.Join(dir, "model")
	trained, err := pipelines.Train(ctx, options.Train{Prepare: spec, Model: model,
		Lambda: options.Lambda{Path: []float64{1e-4}}})
	if err != nil {
		log.Fatal(err)
	}
	result, err := pipelines.Evaluate(ctx, options.Evaluate{Model: model, Data: spec.Data})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(trained.Kernel)
	fmt.Printf("accuracy %.2f\n", result.Classes.Accuracy)
	// Output:
	// sinc kernel, width 0.4
	// accuracy 0.99
}

// CompareKernel reports whether the features of a kernel estimate it: their error falls with the
// root of their number.
func TestFeaturesOfAnotherPackageEstimateTheirKernel(t *testing.T) {
	spec, err := moons(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r, err := pipelines.CompareKernel(t.Context(),
		options.CompareKernel{Prepare: spec, Budgets: []int{256, 4096}, Seeds: 4, Rows: 40})
	if err != nil {
		t.Fatal(err)
	}
	p := r.Curves[0].Points
	if few, many := p[0].RMSE.Mean, p[1].RMSE.Mean; few > 0.06 || many > few/2.5 {
		t.Errorf("the error is %g with 256 features, %g with 4096", few, many)
	}
}

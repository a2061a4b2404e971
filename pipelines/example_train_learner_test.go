package pipelines_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// A learner of another package is trained like the learners of this module: its options are
// options.Train.Learner, and flags of the command line.
func ExampleTrain_learnerOfAnotherPackage() {
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
	trained, err := pipelines.Train(ctx, options.Train{
		Prepare: spec, Model: model, Learner: &descentOptions{iterative.Defaults(),
			1}, Lambda: options.Lambda{Path: []float64{1e-4, 1e-2}}, Search: "none",
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := pipelines.Evaluate(ctx, options.Evaluate{Model: model, Data: spec.Data})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(trained.Learner, trained.Lambda, trained.Log.Ended)
	fmt.Printf("accuracy %.2f\n", result.Classes.Accuracy)
	// Output:
	// descent 0.0001 100 rounds
	// accuracy 0.98
}

// Command train shows how a Go program trains with the public packages: it fits a model
// to a CSV file whose last column is the label, and scores it on another.
//
//	train TRAIN.csv TEST.csv MODEL
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/options"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: train TRAIN.csv TEST.csv MODEL")
	}
	accuracy, err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("accuracy %.3f\n", accuracy)
}

func run(ctx context.Context, train, test, model string) (accuracy float64, err error) {
	o := options.NewTrain() // the defaults of bochner train
	o.Data = dataset.Options{Files: []string{train}, Label: "-1"}
	o.Model = model
	o.Kernel = &fourier.GaussianOptions{Features: 128}
	o.Lambda.Path = []float64{1e-6}
	_, err = pipelines.Train(ctx, o)
	if err != nil {
		return 0, err
	}
	result, err := pipelines.Evaluate(ctx, options.Evaluate{
		Model: model,
		Data:  dataset.Options{Files: []string{test}, Label: "-1"},
	})
	if err != nil {
		return 0, err
	}
	return result.Classes.Accuracy, nil
}

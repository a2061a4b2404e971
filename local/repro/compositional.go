package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/skeleton"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// skeletons of Daniely, Frostig, Gupta and Singer ("Random Features for
// Compositional Kernels", 2017), Fig. 3, on 24×24 centre crops of CIFAR-10.
var skeletons = map[string]string{
	"shallow": `
image: {height: 32, width: 32, channels: 3, planar: true, crop: 24}
space: {circle: 2}
layers:
  - {full: true, activation: {exponential: 4}}
`,
	"deep": `
image: {height: 32, width: 32, channels: 3, planar: true, crop: 24}
space: {circle: 2}
layers:
  - {conv: 5, stride: 2, activation: {exponential: 4}}
  - {conv: 4, stride: 2, activation: {relu: true}}
  - {full: true, activation: {relu: true}}
`,
}

// mnistSkeleton is a two-layer convolutional skeleton for MNIST.
const mnistSkeleton = `
image: {height: 28, width: 28, channels: 1}
space: {circle: 2}
layers:
  - {conv: 5, stride: 2, activation: {exponential: 4}}
  - {full: true, activation: {relu: true}}
`

// compositional repeats Fig. 3 and 4 on the images there are, and compares
// compositional with Fourier features on MNIST.
func (e experiment) compositional(ctx context.Context) error {
	cifar := filepath.Join(e.data, "cifar10", "first4000.bin.gz")
	for _, name := range []string{"shallow", "deep"} {
		out := filepath.Join(e.out, name)
		if err := os.RemoveAll(out); err != nil {
			return err
		}
		s, err := skeleton.Parse([]byte(skeletons[name]))
		if err != nil {
			return err
		}
		fmt.Printf("\nFig. 3, %s skeleton, CIFAR-10 24×24 crops, 128 images:\n", name)
		r, err := pipelines.CompareKernel(ctx, options.CompareKernel{
			Prepare: options.Prepare{
				Data:   dataset.Options{Files: []string{cifar}, Format: "cifar10"},
				Kernel: &skeleton.Options{Skeleton: s}, Seed: 1,
			},
			Budgets: []int{100, 1000, 10000, 50000}, Seeds: 10, Rows: 128, All: true, Out: out,
		})
		if err != nil {
			return err
		}
		if _, err := r.WriteTo(os.Stdout); err != nil {
			return err
		}
	}
	mnist, err := skeleton.Parse([]byte(mnistSkeleton))
	if err != nil {
		return err
	}
	fmt.Println("\nMNIST, ridge, λ by 5-fold cross-validation, test error in %:")
	budgets := e.features
	if len(budgets) == 0 {
		budgets = []int{1000, 4000, 10000}
	}
	for _, dim := range budgets {
		for _, k := range []kernel.Options{&skeleton.Options{Skeleton: mnist, Features: dim},
			&fourier.GaussianOptions{Features: dim}} {
			percent, trained, err := e.errorOn(ctx, e.mnist("t10k"), "compositional-model",
				options.Prepare{Data: e.mnist("train"), Kernel: k, Seed: 1}, options.Lambda{})
			if err != nil {
				return err
			}
			fmt.Printf("%6d features of the %-40s %5.2f\n", dim, trained.Kernel, percent)
		}
	}
	return nil
}

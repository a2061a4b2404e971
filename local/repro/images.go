package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/patches"
	"github.com/bochner-ml/bochner/features/skeleton"
	"github.com/bochner-ml/bochner/internal/testing/realdata"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// convolutions is an architecture of Table 1 of Daniely, Frostig, Gupta and Singer (2017) after its
// patches of the first layer have become pixels: height and width, channels, size of the second
// convolution. full is the last row of the table.
const (
	convolutions = `
image: {height: %[1]d, width: %[1]d, channels: %d, planar: true}
space: {sphere: projection}
layers:
  - {conv: 1, activation: {relu: true}}
  - {conv: %d, stride: 2, activation: {relu: true}}
  - {full: true, activation: {relu: true}}
`
	full = `
columns: 1728
space: {sphere: projection}
layers:
  - {full: true, activation: {relu: true}}
`
)

type imageModel struct {
	name   string
	scale  []string
	kernel kernel.Options
	search bool // for what is not given
}

func imageModels(features int) (all []imageModel, err error) {
	sphere := []string{"255", "crop:24", "whiten"}
	for _, c := range []struct {
		name, text string
		steps      []string
	}{
		{"Table 1: 4,5", fmt.Sprintf(convolutions, 11, 10, 5), []string{"patchpca:4:2:10", "unitpixels"}},
		{"Table 1: Full", full, []string{"unit"}},
	} {
		s, err := skeleton.Parse([]byte(c.text))
		if err != nil {
			return nil, err
		}
		all = append(all, imageModel{name: c.name, scale: append(sphere[:3:3], c.steps...),
			kernel: &skeleton.Options{Skeleton: s, Features: features}})
	}
	return append(all,
		imageModel{name: "--search none", kernel: &fourier.GaussianOptions{Features: features}},
		imageModel{name: "no flags", search: true},
		imageModel{name: "--kernel patches", kernel: &patches.Options{Features: features}}), nil
}

// imageTable learns from the first 500 to 3,000 of the 4,000 images and tests on the last 1,000.
func (e experiment) imageTable(ctx context.Context) error {
	data, err := realdata.Unzip(filepath.Join(e.data, "cifar10", "first4000.bin.gz"))
	if err != nil {
		return err
	}
	rows := func(name string, first, last int) (dataset.Options, error) {
		const record = 1 + 3*32*32
		name = filepath.Join(e.out, name)
		return dataset.Options{Files: []string{name}, Format: "cifar10"},
			os.WriteFile(name, data[first*record:last*record], 0o666)
	}
	test, err := rows("test.bin", 3000, 4000)
	if err != nil {
		return err
	}
	models, err := imageModels(append(e.features, 4096)[0])
	if err != nil {
		return err
	}
	fmt.Println("CIFAR-10, ridge, accuracy in % on images 3,001 to 4,000; training images: 500, 1,000, 2,000, 3,000")
	for _, m := range models {
		e.searches = m.search
		fmt.Printf("%-26s", m.name)
		for _, n := range []int{500, 1000, 2000, 3000} {
			train, err := rows("train.bin", 0, n)
			if err != nil {
				return err
			}
			percent, _, err := e.errorOn(ctx, test, "images-model", options.Prepare{Data: train, Scale: m.scale,
				Kernel: m.kernel, Seed: 1}, options.Lambda{})
			if err != nil {
				return err
			}
			fmt.Printf("  %5.1f", 100-percent)
		}
		fmt.Println()
	}
	return nil
}

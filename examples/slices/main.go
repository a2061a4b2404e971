// Command slices shows how a Go program trains on rows in memory: ridge, svm and sgd each learn which of two
// rings a point belongs to. It prints how many of the points they classify correctly.
package main

import (
	"fmt"
	"log"
	"math"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sgd"
	"github.com/bochner-ml/bochner/models/svm"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	var x []float32
	var class []int32
	for i := range 400 {
		radius, angle := 1+float64(i%2), float64(i)
		x = append(x, float32(radius*math.Cos(angle)), float32(radius*math.Sin(angle)))
		class = append(class, int32(i%2))
	}
	features, err := fourier.Gaussian{In: 2, Out: 256, Width: 1, Seed: 1}.New()
	if err != nil {
		return err
	}
	data := &linear.Data{Map: features, X: x, Class: class}
	byRidge, err := ridge.Fit(data, []float64{1e-6}, nil)
	if err != nil {
		return err
	}
	bySVM, err := svm.Fit(data, 1e-4, nil)
	if err != nil {
		return err
	}
	bySGD, err := sgd.Fit(data, 1e-4, nil)
	if err != nil {
		return err
	}
	for i, m := range []*linear.Machine{byRidge.Machine, bySVM.Machine, bySGD.Machine} {
		got, right := make([]int32, len(class)), 0
		m.Classes(got, x, len(class))
		for i, c := range got {
			if c == class[i] {
				right++
			}
		}
		fmt.Print([]string{"ridge ", " svm ", " sgd "}[i], right)
	}
	fmt.Println()
	return nil
}

package svm_test

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/svm"
)

// A support vector machine comes with a certificate, a bound on the distance of its objective from the least.
func ExampleFit() {
	var x []float32
	var class []int32
	for i := range 400 {
		radius, angle := 1+float64(i%2), float64(i)
		x = append(x, float32(radius*math.Cos(angle)), float32(radius*math.Sin(angle)))
		class = append(class, int32(i%2))
	}
	features, err := fourier.Gaussian{In: 2, Out: 256, Width: 1, Seed: 1}.New()
	if err != nil {
		panic(err)
	}
	options := svm.NewLearnerOptions()
	options.Gap = 1e-2
	fit, err := svm.Fit(&linear.Data{Map: features, X: x, Class: class}, 1e-4, options)
	if err != nil {
		panic(err)
	}
	got := make([]int32, 2)
	fit.Classes(got, []float32{0, 1.05, 0, 1.95}, 2)
	gap, _ := fit.Last().Gap()
	fmt.Println(got, gap <= 0.01*fit.Last().Objective)
	fmt.Println(fit.Ended)
	// Output:
	// [0 1] true
	// the gap is at most 0.01 of the objective
}

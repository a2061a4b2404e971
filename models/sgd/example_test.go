package sgd_test

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/sgd"
)

// Mini-batches with the softmax loss. The learning rate is found on a sample.
func ExampleFit() {
	var x []float32
	var class []int32
	for i := range 600 { // three rings
		radius, angle := 1+float64(i%3), float64(i)
		x = append(x, float32(radius*math.Cos(angle)), float32(radius*math.Sin(angle)))
		class = append(class, int32(i%3))
	}
	features, err := fourier.Gaussian{In: 2, Out: 256, Width: 1, Seed: 1}.New()
	if err != nil {
		panic(err)
	}
	options := sgd.NewLearnerOptions()
	options.Rounds = 50
	fit, err := sgd.Fit(&linear.Data{Map: features, X: x, Class: class}, 1e-6, options)
	if err != nil {
		panic(err)
	}
	got := make([]int32, 3)
	fit.Classes(got, []float32{1, 0, 2, 0, 3, 0}, 3)
	fmt.Println(got, fit.Last().Errors, "of", fit.Last().Rows, "wrong")
	// Output: [0 1 2] 0 of 600 wrong
}

package ridge_test

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
)

// waves are points of an interval with a smooth function of them.
func waves(n int) (x []float32, y []float64) {
	for i := range n {
		v := 6 * float64(i) / float64(n)
		x, y = append(x, float32(v)), append(y, 100+10*math.Sin(v))
	}
	return x, y
}

// Kernel ridge regression on rows in memory. The value of λ is chosen by
// cross-validation.
func ExampleFit() {
	x, y := waves(500)
	features, err := fourier.Gaussian{In: 1, Out: 128, Width: 1, Seed: 1}.New()
	if err != nil {
		panic(err)
	}
	fit, err := ridge.Fit(&linear.Data{Map: features, X: x, Target: y}, []float64{1e-2, 1e-4, 1e-6}, nil)
	if err != nil {
		panic(err)
	}
	predicted := make([]float64, 1)
	fit.Targets(predicted, []float32{math.Pi / 2}, 1)
	fmt.Printf("lambda %g, f(π/2) = %.1f\n", fit.Lambda, predicted[0])
	// Output: lambda 1e-06, f(π/2) = 110.0
}

// Classes are numbered from 0. The points of one class lie inside the other class.
func ExampleFit_classes() {
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
	fit, err := ridge.Fit(&linear.Data{Map: features, X: x, Class: class}, []float64{1e-6}, nil)
	if err != nil {
		panic(err)
	}
	got := make([]int32, 2)
	fit.Classes(got, []float32{0, 1.05, 0, 1.95}, 2)
	fmt.Println(got)
	// Output: [0 1]
}

// A Sum of some rows can be subtracted from the Sum of all rows, exactly. The model is then the
// model of the other rows.
func ExampleSum_Sub() {
	x, y := waves(500)
	m, err := fourier.Gaussian{In: 1, Out: 128, Width: 1, Seed: 1}.New()
	if err != nil {
		panic(err)
	}
	gridded := m.(features.Gridded)
	targets := linear.TargetGrid{Low: 90, High: 110}
	sum := func(first, end int) *ridge.Sum {
		z, q := features.NewGrid(128, features.ByteSteps), make([]int32, 0, end-first)
		for _, v := range y[first:end] {
			q = append(q, targets.Quantize(v))
		}
		s := ridge.NewSum(ridge.Shape{Dim: 128, Outputs: 1, Regression: true})
		gridded.Quantize(z, x[first:end], end-first, 1)
		s.AddLabels(z, q, nil, 1)
		return s
	}
	all := sum(0, 500)
	all.Sub(sum(400, 500))
	fmt.Println(all.Rows(), all.Equal(sum(0, 400)))
	// Output: 400 true
}

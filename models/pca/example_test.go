package pca_test

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/models/pca"
)

// Kernel PCA: the first component of Gaussian features separates two clusters.
func ExampleFit() {
	var x []float32
	for i := range 200 {
		angle := float64(i)
		x = append(x, float32(0.3*math.Cos(angle)+3*float64(i%2)), float32(0.3*math.Sin(angle)))
	}
	features, err := fourier.Gaussian{In: 2, Out: 128, Width: 1, Seed: 1}.New()
	if err != nil {
		panic(err)
	}
	fit, err := pca.Fit(features, x, nil)
	if err != nil {
		panic(err)
	}
	phi, at := make([]float32, 2*128), make([]float32, 2*2)
	features.Apply(phi, []float32{0, 0, 3, 0}, 2)
	fit.Linear.Scores(at, phi, 2)
	fmt.Printf("%.0f%% of the variance; opposite sides: %v\n", 100*fit.Ratio[0], at[0]*at[2] < 0)
	// Output: 83% of the variance; opposite sides: true
}

package fourier_test

import (
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
)

// Inner products of features estimate the kernel, with an error of about 1/√D.
func ExampleGaussian() {
	recipe := fourier.Gaussian{In: 2, Out: 4096, Width: 1, Seed: 1}
	m, err := recipe.New()
	if err != nil {
		panic(err)
	}
	rows := []float32{0, 0, 0.6, 0.8}
	phi := make([]float32, 2*recipe.Out)
	m.Apply(phi, rows, 2)
	var inner float64
	for j := range recipe.Out {
		inner += float64(phi[j]) * float64(phi[recipe.Out+j])
	}
	exact := recipe.Kernel(rows[:2], rows[2:])
	fmt.Printf("kernel %.4f, off by less than 0.05: %t\n", exact, math.Abs(inner-exact) < 0.05)
	// Output: kernel 0.6065, off by less than 0.05: true
}

// A sealed recipe is a few bytes of JSON, from which every machine draws the same map.
func ExampleGaussian_seal() {
	sealed, err := features.Seal(fourier.Gaussian{In: 2, Out: 64, Width: 0.5, Seed: 7})
	if err != nil {
		panic(err)
	}
	recipe, err := sealed.Open()
	if err != nil {
		panic(err)
	}
	in, out, err := features.Dims(recipe)
	fmt.Println(sealed.Kind, in, out, err)
	// Output: fourier.gaussian 2 64 <nil>
}

// Package kerneltest gives tests the kernels of recipes.
package kerneltest

import "github.com/bochner-ml/bochner/features"

// Kernel is features.Kernel for a valid recipe. It panics for any other.
func Kernel(r features.Recipe) func(x, z []float32) float64 {
	k, err := features.Kernel(r)
	if err != nil {
		panic(err)
	}
	return k
}

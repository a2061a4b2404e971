package spec

import (
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/tuning"
	"github.com/bochner-ml/bochner/pipelines/options"
)

func TestWorthAndTimeTrySizesUpToTheGivenNumberOfFeatures(t *testing.T) {
	laplace := func(features int) *fourier.LaplaceOptions { return &fourier.LaplaceOptions{Features: features} }
	for _, c := range []struct {
		name    string
		kernel  kernel.Options
		kernels []kernel.Options
		most    int
	}{
		{"nothing is given", nil, nil, tuning.MaxDefaultFeatures},
		{"a kernel without a number", laplace(0), nil, tuning.MaxDefaultFeatures},
		{"a kernel with a number", laplace(1024), nil, 1024},
		{"kernels of a search with a number", nil, []kernel.Options{laplace(1024), laplace(1024)}, 1024},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options.Train{Size: options.Size{MinGain: 0.01}}
			o.Kernel, o.Kernels = c.kernel, c.kernels
			got := Options{Train: o}.WithDefaults()
			for _, k := range append(got.Kernels, got.Kernel) {
				if n := k.Size(1).Features; n != c.most {
					t.Errorf("sizes go up to %d features with %s, want %d", n, kernel.FamilyOf(k).Name, c.most)
				}
			}
		})
	}
}

func TestInvalidSizesAreRejected(t *testing.T) {
	for _, size := range []options.Size{{MinGain: 1}, {MinGain: -0.1}, {Time: -1}} {
		if err := (Options{Train: options.Train{Size: size}}).validateSize(); exit.CodeOf(err) != exit.CodeUsage {
			t.Errorf("%+v: %v", size, err)
		}
	}
}

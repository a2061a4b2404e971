package tuning

import (
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
)

// Few rows get fewer features, unless their number is given.
func TestFewRowsGetFewerFeatures(t *testing.T) {
	for _, c := range []struct {
		kernels    []kernel.Options
		rows       int64
		size, want int
	}{
		{Families(), 128, 4096, 2048},
		{Families(), 129, 4096, 4096},
		{Families(), 0, 4096, 4096}, // unknown
		{Families(), 128, 512, 512},
		{[]kernel.Options{&fourier.GaussianOptions{Features: 3000}}, 128, 3000, 3000},
	} {
		if got := Features(c.kernels, c.rows, c.size); got != c.want {
			t.Errorf("%d rows, %d features: %d, want %d", c.rows, c.size, got, c.want)
		}
	}
}

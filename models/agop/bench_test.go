package agop

import (
	"fmt"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/models/ridge"
)

// BenchmarkOuter measures M for D features, d numbers and K outputs, on one thread.
func BenchmarkOuter(b *testing.B) {
	for _, c := range []struct{ dim, d, k int }{{1024, 8, 1}, {2048, 16, 26}, {2048, 100, 2}, {4096, 100, 10}} {
		b.Run(fmt.Sprintf("D=%d/d=%d/K=%d", c.dim, c.d, c.k), func(b *testing.B) {
			v, err := WavesOf(fourier.Gaussian{In: c.d, Out: c.dim, Width: 1})
			if err != nil {
				b.Fatal(err)
			}
			sum := ridge.NewSum(ridge.Shape{Dim: c.dim, Outputs: c.k})
			w := make([]float32, c.dim*c.k)
			for b.Loop() {
				v.Outer(sum, w, ridge.Units{Step: 1}, 1)
			}
		})
	}
}

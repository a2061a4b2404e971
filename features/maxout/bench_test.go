package maxout

import (
	"fmt"
	"github.com/bochner-ml/bochner/features"
	"testing"
)

// BenchmarkMap spends most of its time in a dense product of the projections. Run with -cpu 1.
func BenchmarkMap(b *testing.B) {
	const n, d, m = 256, 784, 1024
	for _, q := range []int{1, 2, 4, 16} {
		for _, pool := range []int{0, 1024} {
			r := Recipe{In: d, Out: m, Q: q, Pool: pool, Bound: 100}
			made := mustNew(b, r)
			x, dst, grid := normals(n*d, 1), make([]float32, n*m), features.NewGrid(m, features.ByteSteps)
			_, width := made.weights.Dims()
			product := make([]float32, n*width)
			name := fmt.Sprintf("q=%d/pool=%d/", q, pool)
			b.Run(name+"product", func(b *testing.B) {
				for b.Loop() {
					made.weights.Mul(product, x, n, 1)
				}
			})
			b.Run(name+"Apply", func(b *testing.B) {
				for b.Loop() {
					made.Apply(dst, x, n)
				}
			})
			b.Run(name+"Quantize", func(b *testing.B) {
				for b.Loop() {
					made.Quantize(grid, x, n, 1)
				}
			})
		}
	}
}

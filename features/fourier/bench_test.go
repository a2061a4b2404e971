package fourier

import (
	"fmt"
	"github.com/bochner-ml/bochner/features"
	"testing"

	"github.com/bochner-ml/bochner/internal/blas"
)

// Run New on one core with -cpu 1.
func BenchmarkNew(b *testing.B) {
	for name, r := range kernels(784, 4096, 10, Paired, 1) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := r.New(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMap(b *testing.B) {
	const n = blas.MaxRows
	for _, d := range []int{20, 100, 784} {
		for _, form := range []Form{Paired, Offset} {
			const out = 4096
			m := mustNew(b, Gaussian{In: d, Out: out, Width: 10, Form: form})
			x, dst, grid := normals(n*d, 1), make([]float32, n*out), features.NewGrid(out, features.ByteSteps)
			m.Apply(dst, x, n)
			b.Run(fmt.Sprintf("Apply/%v/d=%d", form, d), func(b *testing.B) {
				for b.Loop() {
					m.Apply(dst, x, n)
				}
			})
			b.Run(fmt.Sprintf("Quantize/%v/d=%d", form, d), func(b *testing.B) {
				for b.Loop() {
					m.Quantize(grid, x, n, 1)
				}
			})
		}
	}
}

// BenchmarkDraws compares structured maps with dense ones. Run with -cpu 1.
func BenchmarkDraws(b *testing.B) {
	const n, d = 256, 784
	for _, out := range []int{4096, 8192} {
		for _, form := range []Form{Paired, Offset} {
			for _, draw := range []Draw{Iid, Structured} {
				m := mustNew(b, Gaussian{In: d, Out: out, Width: 10, Form: form, Draw: draw})
				x, dst, grid := normals(n*d, 1), make([]float32, n*out), features.NewGrid(out, features.ByteSteps)
				b.Run(fmt.Sprintf("Apply/%v/D=%d/%v", form, out, draw), func(b *testing.B) {
					for b.Loop() {
						m.Apply(dst, x, n)
					}
				})
				b.Run(fmt.Sprintf("Quantize/%v/D=%d/%v", form, out, draw), func(b *testing.B) {
					for b.Loop() {
						m.Quantize(grid, x, n, 1)
					}
				})
			}
		}
	}
}

// BenchmarkOrthogonalNew draws 2,048 frequencies of 784 values: three blocks.
func BenchmarkOrthogonalNew(b *testing.B) {
	for b.Loop() {
		if _, err := (Gaussian{In: 784, Out: 4096, Width: 10, Draw: Orthogonal}).New(); err != nil {
			b.Fatal(err)
		}
	}
}

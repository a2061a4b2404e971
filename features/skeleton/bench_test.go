package skeleton

import (
	"fmt"
	"testing"

	"github.com/bochner-ml/bochner/features"

	"github.com/bochner-ml/bochner/internal/blas"
)

// pictures are skeletons on images of 28×28 pixels, the deep one of the paper's kind.
var pictures = []struct {
	name string
	s    Skeleton
}{
	{"shallow", Image{Height: 28, Width: 28, Channels: 1}.skeleton(Space{Circle: 2}, full(exp1))},
	{"deep", Image{Height: 28, Width: 28, Channels: 1}.skeleton(Space{Circle: 2}, conv(5, 2, exp4), conv(4, 2, relu),
		full(relu))},
	{"relu", Image{Height: 28, Width: 28, Channels: 1}.skeleton(Space{Circle: 2}, conv(5, 2, relu), conv(4, 2, relu),
		full(relu))},
}

func BenchmarkNew(b *testing.B) {
	for _, p := range pictures {
		for _, out := range []int{10_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/D=%d", p.name, out), func(b *testing.B) {
				var m *Map
				for b.Loop() {
					m = mustNew(b, Compositional{Skeleton: p.s, Out: out, Seed: 1})
				}
				b.ReportMetric(float64(m.Draws()), "draws")
				b.ReportMetric(float64(len(m.codes))/float64(out), "codes/feature")
			})
		}
	}
}

// BenchmarkApply maps rows on one thread.
func BenchmarkApply(b *testing.B) {
	const n = 256
	for _, p := range pictures {
		for _, sampler := range []Sampler{RFS, Hybrid} {
			if sampler == Hybrid && p.name == "relu" {
				continue // no Gaussian kernels
			}
			const out = 10_000
			m := mustNew(b, Compositional{Skeleton: p.s, Out: out, Sampler: sampler, Seed: 1})
			x, dst := numbers(n*784, 1), make([]float32, n*out)
			b.Run(fmt.Sprintf("%s%v/D=%d", p.name, sampler, out), func(b *testing.B) {
				for b.Loop() {
					m.Apply(dst, x, n)
				}
				b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// BenchmarkApplyRange maps a million features, 10,000 of them at a time.
func BenchmarkApplyRange(b *testing.B) {
	const n, out, block = 64, 1_000_000, 10_000
	m := mustNew(b, Compositional{Skeleton: pictures[1].s, Out: out, Seed: 1})
	x, dst := numbers(n*784, 1), make([]float32, n*block)
	for b.Loop() {
		for first := 0; first < out; first += block {
			m.applyRange(dst, x, n, first, block)
		}
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkQuantize(b *testing.B) {
	const n, out = blas.MaxRows, 4096
	m := mustNew(b, Compositional{Skeleton: pictures[1].s, Out: out, Seed: 1})
	x, grid := numbers(n*784, 1), features.NewGrid(out, features.ByteSteps)
	for b.Loop() {
		m.Quantize(grid, x, n, 1)
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkKernel(b *testing.B) {
	x, z := numbers(784, 1), numbers(784, 2)
	for _, p := range pictures {
		g := mustCompile(b, p.s)
		b.Run(p.name, func(b *testing.B) {
			for b.Loop() {
				g.kernel(x, z)
			}
		})
		b.Run(p.name+"/with Compile", func(b *testing.B) {
			for b.Loop() {
				p.s.kernel(x, z)
			}
		})
	}
}

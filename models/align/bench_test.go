package align

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/bochner-ml/bochner/internal/blas"
)

// A round of the paper's game: 500 chains of 100 steps and a step of the dual weights. The
// product of rows and as many frequencies tells what the machine can do at that moment.
func BenchmarkRound(b *testing.B) {
	const d = 512
	threads := runtime.GOMAXPROCS(0)
	for _, n := range []int{2500, 5000, 10000} {
		x, class := normals(n*d, 1, 1), make([]int32, n)
		for i := range class {
			class[i] = int32(i % 2)
		}
		o := Paper(1/float64(n), 30, 10, 1)
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			p, dst := blas.Pack(x[:500*d], nil, 500, d), make([]float32, n*500)
			for b.Loop() {
				if _, err := Learn(x, d, class, 2, o, threads, nil); err != nil {
					b.Fatal(err)
				}
			}
			// A gradient takes two products, of rows and frequencies, and of rows and coefficients.
			rate := 100 * 2 * 2 * float64(n) * d * 500 * float64(b.N) / b.Elapsed().Seconds()
			product := testing.Benchmark(func(b *testing.B) {
				for b.Loop() {
					p.Mul(dst, x, n, threads)
				}
			})
			b.ReportMetric(rate/1e9, "GFLOP/s")
			b.ReportMetric(rate*product.T.Seconds()/float64(product.N)/(2*float64(n)*d*500), "of-product")
		})
	}
}

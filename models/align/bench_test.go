package align

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/blas"
)

// BenchmarkRound measures a round of the paper's game, 500 chains of 100 steps and a step of the
// dual weights. For comparison it also measures a plain product of the rows and as many frequencies
// on the same machine.
func BenchmarkRound(b *testing.B) {
	const d = 512
	threads := runtime.GOMAXPROCS(0)
	for _, n := range []int{2500, 5000, 10000} {
		x, class := normals(n*d, 1, 1), make([]int32, n)
		for i := range class {
			class[i] = int32(i % 2)
		}
		o := PaperOptions(1/float64(n), 30, 10, 1)
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			p, dst := blas.Pack(x[:500*d], nil, 500, d), make([]float32, n*500)
			var rounds, products time.Duration
			for b.Loop() {
				begun := time.Now()
				if _, err := Learn(Rows{x, d, class, 2}, o, threads, nil); err != nil {
					b.Fatal(err)
				}
				rounds += time.Since(begun)
				begun = time.Now()
				for range 20 {
					p.Mul(dst, x, n, threads)
				}
				products += time.Since(begun) / 20
			}
			// A gradient takes two products, of rows and frequencies, and of rows and coefficients.
			b.ReportMetric(200*2*float64(n)*d*500*float64(b.N)/rounds.Seconds()/1e9, "GFLOP/s")
			b.ReportMetric(200*products.Seconds()/rounds.Seconds(), "of-product")
		})
	}
}

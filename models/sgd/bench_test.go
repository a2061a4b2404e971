package sgd

import (
	"fmt"
	"testing"

	"github.com/bochner-ml/bochner/models/loss"
)

func BenchmarkEpoch(b *testing.B) {
	const n, d, k = 10_000, 1024, 10
	rows := sample(n, d, k, false)
	for _, name := range []string{"softmax", "hinge"} {
		for _, method := range []Method{SGD, AdaGrad} {
			for _, batch := range []int{16, 64, 256} {
				b.Run(fmt.Sprintf("%s/%s/batch=%d", name, method, batch), func(b *testing.B) {
					p := loss.Problem{Loss: name, Outputs: k, Dim: d, Rows: n, Lambda: 1e-6}
					l, state := begin(b, options{Problem: p, Method: method, Rate: 1, Batch: batch, Partitions: 1})
					for b.Loop() {
						epoch(b, l, state, rows, 1, 1024)
					}
					b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
				})
			}
		}
	}
}

package preprocess

import (
	"testing"

	"github.com/bochner-ml/bochner/features"
)

func layoutName(planes bool) string {
	if planes {
		return "planes"
	}
	return "pixels"
}

// benchmark measures r on 256 images per call, on one goroutine.
func benchmark(b *testing.B, name string, r features.Recipe) {
	b.Helper()
	const n = 256
	m := mustNew(b, r)
	in, out := m.Dims()
	x, dst := pixels(ImageShape{Height: 1, Width: in, Channels: 1}, n), make([]float32, n*out)
	b.Run(name, func(b *testing.B) {
		for b.Loop() {
			m.Apply(dst, x, n)
		}
		b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "images/s")
	})
}

package learned

import (
	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/blas"
)

// featureMap is the feature map of a Recipe. It is immutable and safe for concurrent use.
type featureMap struct {
	weights *blas.Weights
	in, out int
	form    fourier.Form
	bound   float32 // largest magnitude of a feature
	reach   float32 // no angle overflows for values up to reach; see features.Reach
	// amplitude has the amplitude of each feature. It is nil if all are equal to bound.
	amplitude []float32
}

var _ features.Gridded = (*featureMap)(nil)

// Dims returns the row length and the number of features.
func (m *featureMap) Dims() (in, out int) { return m.in, m.out }

// Apply stores the features of the n rows of x (n×in, row-major) in dst (n×out). It runs on one
// thread. If an angle of a row overflows float32, the features are NaN. It panics if a slice is too
// short.
func (m *featureMap) Apply(dst, x []float32, n int) {
	if n < 0 || len(x) < n*m.in || len(dst) < n*m.out {
		panic("learned: Apply: slice too short")
	}
	m.apply(dst, x, n, 1)
}

func (m *featureMap) apply(dst, x []float32, n, threads int) {
	scale := m.bound
	if m.amplitude != nil {
		scale = 1
	}
	if m.form == fourier.Paired {
		m.weights.CosSin(dst, x, n, scale, threads)
	} else {
		m.weights.Cos(dst, x, n, scale, threads)
	}
	if m.amplitude != nil {
		blas.Affine(dst, dst, m.amplitude, nil, n)
	}
}

// Quantize stores the features of n ≤ features.MaxRows rows of x on the grid. All features share
// one grid, so features of small weight use only a few of its steps. It returns the number of
// features that are NaN; no other feature is clipped. It panics if x is too short or n is too
// large.
func (m *featureMap) Quantize(dst *features.Grid, x []float32, n, threads int) (saturated int64) {
	if n < 0 || n > blas.MaxRows || len(x) < n*m.in {
		panic("learned: Quantize: slice too short, or too many rows")
	}
	switch {
	case m.amplitude != nil, dst.Most() != blas.MostByte:
		return features.OnGrid(m, dst, x, n, threads, m.bound)
	case m.form == fourier.Paired:
		m.weights.CosSinBytes((*blas.Bytes)(dst), x, n, threads)
	default:
		m.weights.CosBytes((*blas.Bytes)(dst), x, n, threads)
	}
	return features.Overflows(m, x, n, m.reach)
}

// Step returns the step of the 8-bit grid, the largest amplitude divided by 127.
func (m *featureMap) Step() float64 { return float64(m.bound) / 127 }

package landmarks

import (
	"math"
	"sync"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/blas"
)

// featureMap is the map of a Recipe. It does not change and is safe for concurrent use.
type featureMap struct {
	in, out   int
	landmarks []float32 // out×in
	of        *fourier.Radial
	scratch   sync.Pool // of *[]float64, distances from a row to the landmarks
}

var _ features.Ranged = (*featureMap)(nil)

// New returns the map. It fails if a field is invalid or the file is not available.
func (r Recipe) New() (features.Map, error) {
	x, err := r.Landmarks()
	if err != nil {
		return nil, err
	}
	m := &featureMap{landmarks: x, of: fourier.RadialOf(r.Of)}
	m.in, m.out = r.Dims()
	m.scratch.New = func() any {
		t := make([]float64, m.out)
		return &t
	}
	return m, nil
}

// Dims returns the row length and the number of landmarks.
func (m *featureMap) Dims() (in, out int) { return m.in, m.out }

// Apply stores the features of the n rows of x in dst, each computed in float64 and rounded once. A row
// with NaN gets NaN. It panics if a slice is too short.
func (m *featureMap) Apply(dst, x []float32, n int) {
	if n < 0 || len(x) < n*m.in || len(dst) < n*m.out {
		panic("landmarks: Apply: slice too short")
	}
	m.each(dst, x, n, func(k float64) float32 { return float32(k) })
}

// each stores of(k) for the kernel k of each of n rows with each landmark.
func (m *featureMap) each(dst, x []float32, n int, of func(k float64) float32) {
	scratch := m.scratch.Get().(*[]float64)
	defer m.scratch.Put(scratch)
	t := *scratch
	for i := range n {
		blas.Distances(t, x[i*m.in:(i+1)*m.in], m.landmarks, m.of.Distance == kernel.L1)
		for j, v := range t {
			if m.of.Distance == kernel.Euclidean {
				v = math.Sqrt(v)
			}
			t[j] = v / m.of.Width
		}
		m.of.At(t)
		to := dst[i*m.out : (i+1)*m.out]
		for j, k := range t {
			to[j] = of(k)
		}
	}
}

// Quantize stores the features of the n ≤ features.MaxRows rows of x in dst, rounded to its grid. NaN
// becomes 0 and is counted in saturated. It panics if x is too short.
func (m *featureMap) Quantize(dst *features.Grid, x []float32, n, threads int) (saturated int64) {
	return features.OnGrid(steps{m, float64(dst.Most())}, dst, x, n, threads, float32(dst.Most()))
}

// Ranges returns the centre and half length of each feature's range, ½ and ½.
func (m *featureMap) Ranges() (centre, half []float64) {
	half = make([]float64, m.out)
	for j := range half {
		half[j] = 0.5
	}
	return half, half
}

// Step returns the size of a step of the 8-bit grid.
func (m *featureMap) Step() float64 { return 0.5 / features.ByteSteps }

// Wide returns true, which asks for the 16-bit grid: 8 bits are too coarse for features of a wide kernel.
func (m *featureMap) Wide() bool { return true }

// steps maps rows to steps of the grid.
type steps struct {
	*featureMap
	most float64
}

// Apply stores (2k − 1)·most.
func (s steps) Apply(dst, x []float32, n int) {
	s.each(dst, x, n, func(k float64) float32 { return float32((2*k - 1) * s.most) })
}

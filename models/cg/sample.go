package cg

import (
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/io/safetensors"
)

// sample holds the rows of the preconditioner. It is safe for concurrent use.
type sample struct {
	n, d int
	z    []float32 // n×d: features minus their mean over the sample
	gram []float64 // n×n: ZZᵀ

	mu      sync.Mutex
	kernels map[float64]kernel // by λ
}

// sampleStrip is the number of columns whose products are added together.
const sampleStrip = 2048

// sample returns the sample of the options; nil if there is none.
func (l *learner) sample() (*sample, error) {
	if l.Sample == "" {
		return nil, nil
	}
	value, err := l.files(l.Sample, decodeSample)
	if err != nil {
		return nil, fmt.Errorf("cg: sample: %w", err)
	}
	s := value.(*sample)
	if s.d != l.Dim {
		return nil, fmt.Errorf("cg: the sample has rows of %d features, want %d", s.d, l.Dim)
	}
	return s, nil
}

// decodeSample decodes a file of iterative.EncodeSample.
func decodeSample(data []byte) (any, error) {
	file, err := safetensors.Decode(data)
	if err != nil {
		return nil, err
	}
	z, err := safetensors.Shaped[float32](file, "features", -1, -1)
	if err != nil {
		return nil, err
	}
	info, _ := file.Lookup("features")
	n, d := info.Shape[0], info.Shape[1]
	if n < 1 || d < 1 || n > maxSampled {
		return nil, fmt.Errorf("a sample of %d rows of %d features", n, d)
	}
	mean, ones := make([]float64, d), make([]float64, n)
	for i := range ones {
		ones[i] = 1
	}
	threads := runtime.GOMAXPROCS(0)
	blas.Gradient64(mean, ones, z, n, d, 1, threads)
	for i := range z {
		z[i] = float32(float64(z[i]) - mean[i%d]/float64(n))
	}
	s := &sample{n: n, d: d, z: z, gram: make([]float64, n*n), kernels: map[float64]kernel{}}
	for first := 0; first < d; first += sampleStrip {
		w := min(sampleStrip, d-first)
		strip := make([]float64, 0, n*w)
		for i := range n {
			for _, x := range z[i*d+first:][:w] {
				strip = append(strip, float64(x))
			}
		}
		blas.SubProduct(s.gram, strip, strip, n, n, w, threads)
	}
	for i := range s.gram {
		s.gram[i] = -s.gram[i]
	}
	return s, nil
}

// kernel is the factor of ZZᵀ + nμI, or nil if μ is below the rounding error of ZZᵀ.
type kernel struct {
	mu     float64
	factor []float64
}

// kernel returns the factor for λ. The shift μ is larger than λ: the part of a sampled row outside the span of the
// others has 1/n of its square in (1/n) ZᵀZ, but almost none in the matrix of all rows. Half of that is added to λ.
// It is estimated from the pivots of the last rows, which are the squared distances from the span of the rows before.
func (s *sample) kernel(lambda float64) kernel {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.kernels[lambda]
	if ok {
		return k
	}
	n, outside := s.n, 0.0
	last := max(1, n/4)
	for range 2 {
		k = kernel{lambda + outside/float64(2*n*last), slices.Clone(s.gram)}
		for i := range n {
			k.factor[i*n+i] += float64(float64(n) * k.mu)
		}
		if _, ok := blas.Cholesky(k.factor, n, runtime.GOMAXPROCS(0)); !ok {
			k.factor = nil
			break
		}
		outside = 0
		for i := n - last; i < n; i++ {
			l := k.factor[i*n+i]
			outside += max(0, float64(l*l)-float64(float64(n)*lambda))
		}
	}
	s.kernels[lambda] = k
	return k
}

// precondition returns P⁻¹·r for the k rows of r:
//
//	P⁻¹r = (r − Zᵀ (ZZᵀ + mμI)⁻¹ Z r)/μ
//
// Without a sample P is λI.
func (s *sample) precondition(r []float64, k, d int, lambda float64) []float64 {
	out := make([]float64, k*d)
	var kernel kernel
	if s != nil {
		kernel = s.kernel(lambda)
	}
	if kernel.factor != nil {
		lambda = kernel.mu
		n, threads := s.n, runtime.GOMAXPROCS(0)
		u := make([]float64, n*k)
		parallel.Ranges(n, 16, threads, func(lo, hi int) {
			row := make([]float64, d)
			for i := lo; i < hi; i++ {
				for j, x := range s.z[i*d:][:d] {
					row[j] = float64(x)
				}
				blas.Dots(u[i*k:][:k], row, r, d)
			}
		})
		blas.CholeskySolve(kernel.factor, n, u, k, threads)
		blas.Gradient64(out, u, s.z, n, d, k, threads)
	}
	for i, v := range out {
		out[i] = (r[i] - v) / lambda
	}
	return out
}

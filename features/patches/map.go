package patches

import (
	"math"
	"sync"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/exact"
)

// featureMap is the map of Recipe. It is immutable and safe for concurrent use.
//
// The responses of some patches to all filters are computed together, and added to the features of their
// cell while they are in the cache.
type featureMap struct {
	shape            preprocess.ImageShape
	patch, length    int
	down, across     int // numbers of positions of patches
	cells            int
	filters          *blas.Weights
	run              int // patches whose responses are computed together
	floor            float64
	threshold, bound float32
	scratch          sync.Pool // of *scratch
}

// scratch is the working memory for one image: some patches and their responses.
type scratch struct{ patches, responses []float32 }

// cacheRun is the number of responses that are computed together.
const cacheRun = 1 << 16

var _ features.Gridded = (*featureMap)(nil)

// New returns the map.
func (r Recipe) New() (features.Map, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	m := &featureMap{shape: r.Shape, patch: r.Patch, length: r.length(), cells: r.Cells,
		filters: blas.Pack(r.Filters, r.Bias, len(r.Bias), r.length()),
		floor:   r.Floor, threshold: float32(r.Threshold), bound: float32(r.Bound)}
	m.down, m.across = r.places()
	m.run = min(m.down*m.across, max(12, min(96, cacheRun/len(r.Bias))))
	m.scratch.New = func() any {
		return &scratch{make([]float32, m.run*m.length), make([]float32, m.run*len(r.Bias))}
	}
	return m, nil
}

// Dims returns the length of an image and the number of features.
func (m *featureMap) Dims() (in, out int) {
	_, filters := m.filters.Dims()
	return m.shape.Len(), signs * m.cells * m.cells * filters
}

// Apply stores the features of the n rows of x in dst. For filter k and the cell in row i and column j, the
// positive part is feature (i·Cells + j)·2K + k, and the negative part is K further. A row with NaN or
// infinity gets NaN. It panics if a slice is too short.
func (m *featureMap) Apply(dst, x []float32, n int) {
	in, out := m.Dims()
	if n < 0 || len(x) < n*in || len(dst) < n*out {
		panic("patches: Apply: slice too short")
	}
	s := m.scratch.Get().(*scratch)
	defer m.scratch.Put(s)
	for i := range n {
		m.image(dst[i*out:(i+1)*out], x[i*in:(i+1)*in], s)
	}
}

// image stores the features of one image.
func (m *featureMap) image(dst, x []float32, s *scratch) {
	for _, v := range x {
		if !exact.Finite(v) {
			for j := range dst {
				dst[j] = float32(math.NaN())
			}
			return
		}
	}
	clear(dst)
	_, filters := m.filters.Dims()
	places := m.down * m.across
	for first := 0; first < places; first += m.run {
		n := min(m.run, places-first)
		for i := range n {
			p := s.patches[i*m.length:][:m.length]
			m.shape.Patch(p, x, (first+i)/m.across, (first+i)%m.across, m.patch)
			contrast(p, m.floor)
		}
		m.filters.Mul(s.responses, s.patches, n, 1)
		for i := range n {
			cell := cellOf((first+i)/m.across, m.down, m.cells)*m.cells + cellOf((first+i)%m.across, m.across, m.cells)
			to := dst[cell*signs*filters:][:signs*filters]
			rectify(to[:filters], to[filters:], s.responses[i*filters:][:filters], m.threshold)
		}
	}
	root := math.Sqrt(float64(filters))
	for i := range m.cells {
		for j := range m.cells {
			size := cellSize(i, m.down, m.cells) * cellSize(j, m.across, m.cells)
			by := float32(1 / (float64(size) * root))
			to := dst[(i*m.cells+j)*signs*filters:][:signs*filters]
			for k := range to {
				to[k] *= by
			}
		}
	}
}

// contrast subtracts the mean from a patch and divides it by √(variance + floor), with sums in
// float64 in the order of the values.
func contrast(p []float32, floor float64) {
	mean, variance := moments(p)
	by := 1 / math.Sqrt(variance+floor)
	for j, v := range p {
		p[j] = float32((float64(v) - mean) * by)
	}
}

// moments returns mean and variance of the values of a patch.
func moments(p []float32) (mean, variance float64) {
	for _, v := range p {
		mean += float64(v)
	}
	mean /= float64(len(p))
	for _, v := range p {
		d := float64(v) - mean
		variance += float64(d * d)
	}
	return mean, variance / float64(len(p))
}

// rectify adds max(0, r − θ) to positive and max(0, −r − θ) to negative. Signs are unpredictable, so it
// avoids branches: above clears numbers whose sign bit is set.
func rectify(positive, negative, responses []float32, threshold float32) {
	positive, negative = positive[:len(responses)], negative[:len(responses)]
	for k, r := range responses {
		positive[k] += above(r - threshold)
		negative[k] += above(-r - threshold)
	}
}

// above returns max(0, v).
func above(v float32) float32 {
	bits := math.Float32bits(v)
	return math.Float32frombits(bits &^ uint32(int32(bits)>>31))
}

// cellOf returns the cell of a position. Cell i has the positions from ⌊i·places/cells⌋ on.
func cellOf(place, places, cells int) int { return ((place+1)*cells - 1) / places }

// cellSize returns the number of positions in a cell.
func cellSize(i, places, cells int) int { return (i+1)*places/cells - i*places/cells }

// Quantize stores the features of n ≤ features.MaxRows rows of x on the grid, and returns how many
// exceeded features.MaxSteps. It panics if x is too short.
func (m *featureMap) Quantize(dst *features.Grid, x []float32, n, threads int) (saturated int64) {
	return features.OnGrid(m, dst, x, n, threads, m.bound)
}

// Step returns Bound/127.
func (m *featureMap) Step() float64 { return float64(m.bound) / features.ByteSteps }

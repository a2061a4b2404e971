package fourier

import (
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// leastSize is the smallest size of a structured block: the frequencies of
// smaller blocks are far from normal, and cost as much.
const leastSize = 64

var sign = stream.PurposeOf("fourier/sign")

// size returns d', the size of a structured block.
func (d *draw) size() int { return max(leastSize, 1<<bits.Len(uint(d.in-1))) }

// structuredTurns implements turns for the structured draw, as a dense matrix. A block is
//
//	√d'/σ · H D₁ H D₂ H D₃,   H normalised          (Yu et al. 2016, SORF)
//
// of which the first d columns are used. Without normalisation H has elements ±1, the rows are
// whole numbers, exact in float64, and the factor is 1/(σ·d').
func (d *draw) structuredTurns(w []float32, first, n int) {
	size := d.size()
	// Sizes are powers of two, so only 1/(2πσ) is rounded.
	factor := 1 / float64(2*math.Pi*d.width) / float64(size)
	each(n, 8*size, func(lo, hi int) {
		row := make([]float64, size)
		for j := lo; j < hi; j++ {
			block, k := (first+j)/size, (first+j)%size
			// Row k is its transpose's column: D₃ H D₂ H D₁ H e_k.
			clear(row)
			row[k] = 1
			for i := range 3 {
				hadamard(row)
				words := d.signs(block, i)
				for e := range row {
					if words[e/64]>>(e%64)&1 != 0 {
						row[e] = -row[e]
					}
				}
			}
			to := w[j*d.in : (j+1)*d.in]
			for e := range to {
				to[e] = float32(row[e] * factor)
			}
		}
	})
}

// signs returns the diagonal of D_{i+1} of a block, one bit per element, set for −1:
// element e is bit e mod 64 of word e/64 of the stream.
func (d *draw) signs(block, i int) []uint64 {
	s := stream.New(d.seed, sign, 3*uint64(block)+uint64(i))
	words := make([]uint64, d.size()/64)
	for j := range words {
		words[j] = s.Uint64()
	}
	return words
}

// hadamard multiplies x, whose length is a power of two, by the Hadamard matrix of
// elements ±1 in Sylvester's order.
func hadamard(x []float64) {
	for h := 1; h < len(x); h *= 2 {
		for i := 0; i < len(x); i += 2 * h {
			a, b := x[i:i+h], x[i+h:][:h]
			for j, v := range a {
				a[j], b[j] = v+b[j], v-b[j]
			}
		}
	}
}

// structuredMap is the map of a structured draw, applied by Walsh–Hadamard
// transforms. It is immutable and safe for concurrent use.
//
// The row, padded with zeros, is multiplied by signs and transformed three times, with D₃ first. An angle
// in turns is then the transform times the factor 1/(2πσ·d'), and in the offset form plus the offset in one
// fused multiply-add.
type structuredMap struct {
	in, out int
	form    Form
	blocks  int // of size frequencies each; the last may be partly used
	size    int
	used    int          // frequencies
	signs   [3][]float32 // of D₃, D₂ and D₁: blocks×size
	factor  []float32    // the same for every frequency in use
	offsets []float32    // of the frequencies in use; nil in the paired form
	scratch sync.Pool    // of *[]float32
}

var _ features.Gridded = (*structuredMap)(nil)

// buildStructured draws the signs.
func (d *draw) buildStructured() (features.Map, error) {
	size := d.size()
	perTurn := 1 / float64(2*math.Pi*d.width)
	// A frequency has length √d'/σ, which bounds its elements.
	if infinite(float32(perTurn * math.Sqrt(float64(size)))) {
		return nil, d.tooLarge(0)
	}
	m := &structuredMap{in: d.in, out: d.out, form: d.form, size: size, used: d.frequencies(),
		offsets: d.offsets(0, d.frequencies())}
	m.blocks = (m.used + size - 1) / size
	for i := range m.signs {
		m.signs[i] = make([]float32, 0, m.blocks*size)
		for b := range m.blocks {
			for _, word := range d.signs(b, 2-i) {
				for e := range 64 {
					m.signs[i] = append(m.signs[i], 1-2*float32(word>>e&1))
				}
			}
		}
	}
	m.factor = slices.Repeat([]float32{float32(perTurn / float64(size))}, m.used)
	return m, nil
}

// Dims implements features.Map.
func (m *structuredMap) Dims() (in, out int) { return m.in, m.out }

// Apply stores the features of the n rows of x in dst, computed by the calling goroutine. A row with a
// number that is not finite gets NaN. It panics if a slice is too short.
func (m *structuredMap) Apply(dst, x []float32, n int) {
	if n < 0 || len(x) < n*m.in || len(dst) < n*m.out {
		panic("fourier: Apply: slice too short")
	}
	run := m.run()
	t := m.take(run * m.blocks * m.size)
	defer m.scratch.Put(t)
	for i := 0; i < n; i += run {
		rows := min(run, n-i)
		m.transform(*t, x[i*m.in:], rows)
		for j := range rows {
			m.cosines(dst[(i+j)*m.out:][:m.out], (*t)[j*m.blocks*m.size:], float32(m.bound()))
		}
	}
}

// Quantize stores the features of n ≤ features.MaxRows rows of x on the grid, like featureMap.Quantize. Only NaN
// is out of bounds; it becomes 0 and is counted. It panics if x is too short.
func (m *structuredMap) Quantize(dst *features.Grid, x []float32, n, threads int) (saturated int64) {
	if n < 0 || n > blas.MaxRows || len(x) < n*m.in {
		panic("fourier: Quantize: slice too short, or too many rows")
	}
	if dst.D() != m.out {
		panic("fourier: Quantize: the grid has a different number of features")
	}
	dst.Resize(n)
	var count atomic.Int64
	all, run := m.blocks*m.size, m.run()
	parallel.Ranges((n+run-1)/run, 1, threads, func(lo, hi int) {
		t := m.take(run * (all + m.out))
		defer m.scratch.Put(t)
		angles, room := (*t)[:run*all], (*t)[run*all:]
		for i := lo * run; i < min(hi*run, n); i += run {
			rows := min(run, n-i)
			m.transform(angles, x[i*m.in:], rows)
			for j := range rows {
				m.cosines(room[j*m.out:][:m.out], angles[j*all:], 1)
			}
			count.Add(dst.QuantizeRows(i, room, rows, 1))
		}
	})
	return count.Load()
}

// Step returns √(2/D)/127.
func (m *structuredMap) Step() float64 { return m.bound() / 127 }

// bound is the largest magnitude of a feature.
func (m *structuredMap) bound() float64 { return math.Sqrt(2 / float64(m.out)) }

// take returns n numbers of scratch memory, which the caller puts back into m.scratch.
func (m *structuredMap) take(n int) *[]float32 {
	s, ok := m.scratch.Get().(*[]float32)
	if !ok {
		s = new([]float32)
	}
	blas.Grow(s, n)
	return s
}

// runNumbers is the number of angles that are processed together: 64 KiB, which fits in the cache.
const runNumbers = 1 << 14

// run returns the number of rows that are transformed together, a multiple of 4.
func (m *structuredMap) run() int { return max(4, runNumbers/(m.blocks*m.size)&^3) }

// cosines stores scale times the cosines, and sines, of the transform of a row. It
// overwrites angles.
func (m *structuredMap) cosines(dst, angles []float32, scale float32) {
	angles = angles[:m.used]
	blas.Affine(angles, angles, m.factor, m.offsets, 1)
	if m.form == Paired {
		blas.CosSinTurns(dst, dst[m.used:], angles, scale)
	} else {
		blas.CosTurns(dst, angles, scale)
	}
}

// transform stores H D₁ H D₂ H D₃ x of the rows in t, for all blocks; H has elements ±1.
func (m *structuredMap) transform(t, x []float32, rows int) {
	all := m.blocks * m.size
	for i := range rows {
		row := x[i*m.in : (i+1)*m.in]
		for b := 0; b < all; b += m.size {
			to := t[i*all+b:][:m.size]
			blas.Affine(to, row, m.signs[0][b:b+m.in], nil, 1)
			clear(to[m.in:])
		}
	}
	blas.Hadamard(t, rows*m.blocks, m.size, 1)
	for _, signs := range m.signs[1:] {
		blas.Affine(t, t, signs, nil, rows)
		blas.Hadamard(t, rows*m.blocks, m.size, 1)
	}
}

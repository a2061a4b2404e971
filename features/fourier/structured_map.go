package fourier

import (
	"math"
	"sync"
	"unsafe"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
)

// StructuredMap is the map of a structured draw, applied by Walsh–Hadamard
// transforms. It does not change, and is safe for concurrent use.
//
// Frequencies first, as D₃ to D₁: the row, filled up with zeros, has its
// signs turned and is transformed, three times over. An angle in turns is then one
// fused multiply-add of the transform and the factor 1/(2πσ·d') onto the
// offset, or in the paired form one product.
type StructuredMap struct {
	in, out int
	form    Form
	blocks  int // of size frequencies each, the last one perhaps not all in use
	size    int
	used    int         // frequencies
	signs   [3][]uint64 // of D₃, D₂ and D₁: blocks×size/2 masks, each turning the signs of two float32
	factor  float32
	offsets []float32 // blocks×size, or nil
	ending  *blas.Weights
	scratch sync.Pool // of *angles
}

var _ features.Gridded = (*StructuredMap)(nil)

// piece is how many angles the ending takes at a time.
const piece = 16

// buildStructured draws the signs.
func (d *draw) buildStructured() (features.Map, error) {
	size := d.size()
	perTurn := 1 / float64(2*math.Pi*d.width)
	// A frequency is √d'/σ long, and no number of it is longer.
	if infinite(float32(perTurn * math.Sqrt(float64(size)))) {
		return nil, d.tooLarge(0)
	}
	m := &StructuredMap{in: d.in, out: d.out, form: d.form, size: size, used: d.frequencies(), factor: float32(perTurn / float64(size))}
	m.blocks = (m.used + size - 1) / size
	all := m.blocks * size
	for i := range m.signs {
		m.signs[i] = make([]uint64, all/2)
		masks := halves[uint32](m.signs[i])
		for b := range m.blocks {
			for w, word := range d.signs(b, 2-i) {
				for e := range 64 {
					masks[b*size+w*64+e] = uint32(word>>e) << 31
				}
			}
		}
	}
	// blas takes cosines of products with weights only: the product with a unit matrix,
	// which adds zeros, leaves the angles as they are.
	unit := make([]float32, piece*piece)
	one := float32(1)
	if d.form == Paired {
		one = m.factor
	} else {
		m.offsets = append(d.offsets(0, m.used), make([]float32, all-m.used)...)
	}
	for i := range piece {
		unit[i*piece+i] = one
	}
	m.ending = blas.Pack(unit, nil, piece, piece)
	return m, nil
}

// Dims returns the row length and the number of features.
func (m *StructuredMap) Dims() (in, out int) { return m.in, m.out }

// Apply stores the features of the n rows of x in dst, computed by the calling
// goroutine alone. A row with a number that is not finite gets NaN. It panics if a
// slice is too short.
func (m *StructuredMap) Apply(dst, x []float32, n int) {
	if n < 0 || len(x) < n*m.in || len(dst) < n*m.out {
		panic("fourier: Apply: slice too short")
	}
	m.apply(dst, x, n, float32(m.bound()), 1)
}

// Quantize stores the features of n ≤ blas.MaxRows rows of x on the grid, as
// Map.Quantize does: none is out of bounds but NaN, which becomes 0 and is counted. It panics if x is too short.
func (m *StructuredMap) Quantize(dst *blas.Bytes, x []float32, n, threads int) (saturated int64) {
	if n < 0 || n > blas.MaxRows || len(x) < n*m.in {
		panic("fourier: Quantize: slice too short, or too many rows")
	}
	if dst.D() != m.out {
		panic("fourier: Quantize: a block of another number of features")
	}
	s := m.take()
	defer m.scratch.Put(s)
	z := grow(&s.features, n*m.out)
	m.apply(z, x, n, 1, threads)
	return dst.Quantize(z, n, 1, threads)
}

// Step returns √(2/D)/127.
func (m *StructuredMap) Step() float64 { return m.bound() / 127 }

// bound is the largest magnitude of a feature.
func (m *StructuredMap) bound() float64 { return math.Sqrt(2 / float64(m.out)) }

// angles is the working memory of one call or one of its goroutines.
type angles struct {
	pairs    []uint64  // a run of rows under transformation, in pairs of float32
	turns    []float32 // the same as angles, where there are offsets
	ends     []float32 // cosines, or cosines and sines in turn
	features []float32
}

func (m *StructuredMap) take() *angles {
	if s, ok := m.scratch.Get().(*angles); ok {
		return s
	}
	return new(angles)
}

func grow[T any](s *[]T, n int) []T {
	if cap(*s) < n {
		*s = make([]T, n)
	}
	return (*s)[:n]
}

// runNumbers is how many angles are in work at once: 64 KiB, which stay in the cache.
const runNumbers = 1 << 14

// apply stores scale times the cosines, and sines, in dst.
func (m *StructuredMap) apply(dst, x []float32, n int, scale float32, threads int) {
	run := max(1, runNumbers/(m.blocks*m.size))
	ranges((n+run-1)/run, 1, threads, func(lo, hi int) {
		s := m.take()
		for i := lo * run; i < min(hi*run, n); i += run {
			rows := min(run, n-i)
			m.transform(s, x[i*m.in:], rows)
			m.end(s, dst[i*m.out:], rows, scale)
		}
		m.scratch.Put(s)
	})
}

// transform stores H D₁ H D₂ H D₃ x of the rows in s.pairs, for all blocks, H of elements ±1.
func (m *StructuredMap) transform(s *angles, x []float32, rows int) {
	all := m.blocks * m.size
	pairs := grow(&s.pairs, rows*all/2)
	t := halves[float32](pairs)
	for i := range rows {
		row := x[i*m.in : (i+1)*m.in]
		for b := range m.blocks {
			to := t[i*all+b*m.size:][:m.size]
			copy(to, row)
			clear(to[m.in:])
		}
	}
	for _, signs := range m.signs {
		for i := range rows {
			row := pairs[i*all/2:][:len(signs)]
			for j, v := range signs {
				row[j] ^= v
			}
		}
		walsh(t, rows*m.blocks, m.size)
	}
}

// end stores the features of the transformed rows in dst.
func (m *StructuredMap) end(s *angles, dst []float32, rows int, scale float32) {
	all := m.blocks * m.size
	t := halves[float32](s.pairs[:rows*all/2])
	if m.form == Paired {
		ends := grow(&s.ends, 2*rows*all)
		m.ending.CosSin(ends, t, rows*all/piece, scale, 1)
		for i := range rows {
			cos, sin := dst[i*m.out:][:m.used], dst[i*m.out+m.used:][:m.used]
			from := ends[2*i*all:][:2*all]
			j := 0
			for ; j+piece <= m.used; j += piece {
				*(*[piece]float32)(cos[j:]) = [piece]float32(from[2*j:])
				*(*[piece]float32)(sin[j:]) = [piece]float32(from[2*j+piece:])
			}
			copy(cos[j:], from[2*j:])
			copy(sin[j:], from[min(2*j+piece, 2*all):])
		}
		return
	}
	turns := grow(&s.turns, rows*all)
	for i := range rows {
		row := turns[i*all : (i+1)*all]
		copy(row, m.offsets)
		blas.Axpy(m.factor, t[i*all:(i+1)*all], row)
	}
	if m.used == all {
		m.ending.Cos(dst, turns, rows*all/piece, scale, 1)
		return
	}
	ends := grow(&s.ends, rows*all)
	m.ending.Cos(ends, turns, rows*all/piece, scale, 1)
	for i := range rows {
		copy(dst[i*m.out:][:m.used], ends[i*all:])
	}
}

// halves returns the memory of pairs as numbers of 4 bytes. Signs are turned two at
// a time.
func halves[T float32 | uint32](pairs []uint64) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(pairs))), 2*len(pairs))
}

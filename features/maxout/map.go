package maxout

import (
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// featureMap is the map of Maxout. It is immutable and safe for concurrent use.
type featureMap struct {
	in, out, q int
	weights    *blas.Weights
	index      []int32 // out×q; nil if units share no projections
	bound      float32
	scale      float32 // 1/√m
	scratch    sync.Pool
}

var _ features.Gridded = (*featureMap)(nil)

// newMap draws the projections of a valid recipe and, with a pool, the indices of the projections of each unit.
func newMap(r Maxout) *featureMap {
	n := r.projections()
	w, err := r.Projections(0, n)
	if err != nil {
		panic("maxout: a valid recipe without projections")
	}
	m := &featureMap{in: r.In, out: r.Out, q: r.Q, weights: blas.Pack(w, nil, n, r.In),
		bound: float32(r.Bound), scale: float32(1 / math.Sqrt(float64(r.Out)))}
	if r.Pool != 0 {
		m.index = make([]int32, r.Out*r.Q)
		each(r.Out, max(1, (1<<12)/r.Q), func(lo, hi int) {
			var index [MaxQ]int
			for l := lo; l < hi; l++ {
				r.indices(index[:r.Q], l)
				for j, p := range index[:r.Q] {
					m.index[l*r.Q+j] = int32(p)
				}
			}
		})
	}
	return m
}

// Dims implements features.Map.
func (m *featureMap) Dims() (in, out int) { return m.in, m.out }

// Apply stores the features of the n rows of x in dst, computed by the calling goroutine:
// h_ℓ(x)·float32(1/√m). A row with NaN gets NaN. It panics if a slice is too short.
func (m *featureMap) Apply(dst, x []float32, n int) {
	if n < 0 || len(x) < n*m.in || len(dst) < n*m.out {
		panic("maxout: Apply: slice too short")
	}
	m.units(dst, x, n, 1)
	dst = dst[:n*m.out]
	for i := range dst {
		dst[i] *= m.scale
	}
}

// Quantize stores the features of n ≤ features.MaxRows rows of x on the grid and
// returns the number that exceeded features.MaxSteps; NaN becomes 0 and counts too. It panics if x
// is too short.
func (m *featureMap) Quantize(dst *features.Grid, x []float32, n, threads int) (saturated int64) {
	if n < 0 || n > blas.MaxRows || len(x) < n*m.in {
		panic("maxout: Quantize: slice too short, or too many rows")
	}
	if dst.D() != m.out {
		panic("maxout: Quantize: the grid has a different number of features")
	}
	dst.Resize(n)
	const run = 96 // rows between two reads of the weights; a multiple of 4
	var count atomic.Int64
	parallel.Ranges(n, run, threads, func(lo, hi int) {
		z := m.take(run * m.out)
		defer m.scratch.Put(z)
		for row := lo; row < hi; row += run {
			rows := min(run, hi-row)
			m.units(*z, x[row*m.in:], rows, 1)
			count.Add(dst.QuantizeRows(row, *z, rows, m.bound))
		}
	})
	return count.Load()
}

// Step returns Bound/127/√m.
func (m *featureMap) Step() float64 {
	return float64(m.bound) / 127 / math.Sqrt(float64(m.out))
}

// units stores h_ℓ of the n rows of x in dst.
func (m *featureMap) units(dst, x []float32, n, threads int) {
	if m.index == nil {
		m.weights.Max(dst, x, n, m.q, threads)
		return
	}
	m.project(x, n, threads, func(p []float32, row, rows int) {
		_, width := m.weights.Dims()
		for i := range rows {
			to, from := dst[(row+i)*m.out:][:m.out], p[i*width:(i+1)*width]
			for l := range to {
				index := m.index[l*m.q:][:m.q]
				best := from[index[0]]
				for _, k := range index[1:] {
					best = max(best, from[k])
				}
				to[l] = best
			}
		}
	})
}

// project calls use with the projections of successive blocks of rows of x, on at most threads goroutines: p
// (rows×projections) is for the rows from row on.
func (m *featureMap) project(x []float32, n, threads int, use func(p []float32, row, rows int)) {
	_, width := m.weights.Dims()
	run := max(1, min(96, (1<<20)/width)) // 4 MiB, or one row if that is larger
	parallel.Ranges((n+run-1)/run, 1, threads, func(lo, hi int) {
		p := m.take(run * width)
		defer m.scratch.Put(p)
		for row := lo * run; row < min(hi*run, n); row += run {
			rows := min(run, n-row)
			m.weights.Mul(*p, x[row*m.in:], rows, 1)
			use(*p, row, rows)
		}
	})
}

// take returns n numbers of scratch memory, which the caller puts back into m.scratch.
func (m *featureMap) take(n int) *[]float32 {
	s, ok := m.scratch.Get().(*[]float32)
	if !ok {
		s = new([]float32)
	}
	blas.Grow(s, n)
	return s
}

// each calls parallel.Ranges on all processors.
func each(n, step int, f func(lo, hi int)) { parallel.Ranges(n, step, runtime.GOMAXPROCS(0), f) }

// codes stores in dst (n×m, row-major) the codes of the n rows of x: for each unit the index j < q of its
// largest projection, the first of several. The mean share of units at which the codes of two rows differ
// is 1 − κ_q: a locality-sensitive hash (Mroueh, Rennie & Goel 2015, Remark 1). It panics if a slice is too
// short.
func (m *featureMap) codes(dst []uint8, x []float32, n int) {
	if n < 0 || len(x) < n*m.in || len(dst) < n*m.out {
		panic("maxout: codes: slice too short")
	}
	m.project(x, n, 1, func(p []float32, row, rows int) {
		_, width := m.weights.Dims()
		for i := range rows {
			to, from := dst[(row+i)*m.out:][:m.out], p[i*width:(i+1)*width]
			for l := range to {
				best, code := float32(0), 0
				for j := range m.q {
					k := l*m.q + j
					if m.index != nil {
						k = int(m.index[k])
					}
					if v := from[k]; j == 0 || v > best {
						best, code = v, j
					}
				}
				to[l] = uint8(code)
			}
		}
	})
}

// codeBits returns the number of bits of a unit's code, ⌈log₂ q⌉. It panics unless 1 ≤ q ≤ MaxQ.
func codeBits(q int) int {
	checkQ(q)
	return bits.Len(uint(q - 1))
}

// packedLen returns the number of words of m packed codes: codeBits(q) for every 64 units.
func packedLen(m, q int) int { return codeBits(q) * ((m + 63) / 64) }

// pack stores the codes in dst, packedLen words, plane by plane: bit ℓ mod 64 of
// word k·⌈m/64⌉ + ℓ div 64 is bit k of the code of unit ℓ. Bits after the last unit are 0. It
// panics if dst is too short or a code is not below q.
func pack(dst []uint64, codes []uint8, q int) {
	planes, words := codeBits(q), (len(codes)+63)/64
	if len(dst) < planes*words {
		panic("maxout: pack: slice too short")
	}
	clear(dst[:planes*words])
	for l, c := range codes {
		if int(c) >= q {
			panic("maxout: pack: code out of range")
		}
		for k := range planes {
			dst[k*words+l/64] |= uint64(c>>k&1) << (l % 64)
		}
	}
}

var _ features.Hasher = (*featureMap)(nil)

// HashLen returns the number of words of a row's packed codes.
func (m *featureMap) HashLen() int { return packedLen(m.out, m.q) }

// Hash stores in dst (n×HashLen) the packed codes of the n rows of x (see codes and
// pack). It panics if a slice is too short.
func (m *featureMap) Hash(dst []uint64, x []float32, n int) {
	words := m.HashLen()
	if n < 0 || len(dst) < n*words {
		panic("maxout: Hash: slice too short")
	}
	codes := make([]uint8, n*m.out)
	m.codes(codes, x, n)
	for i := range n {
		pack(dst[i*words:(i+1)*words], codes[i*m.out:(i+1)*m.out], m.q)
	}
}

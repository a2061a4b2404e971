package skeleton

import (
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// chunk is the number of features that are computed together.
const chunk = 1024

// short is a number of phases: features with at least short phases are not sorted by their number of phases.
const short = 7

// Map is the map of features of a skeleton. It is immutable and safe for concurrent use.
//
// Feature j is weight_j · Re(product of base features). The angles of the base features of modulus 1 are
// looked up in a table of the row and added. So such a feature costs one addition per factor, and one
// cosine.
type Map struct {
	book    *codebook
	out     int
	draws   int64
	counts  []int64
	weights []float32

	phases
	// Base features of other modulus: end of the codes of each feature, and the codes; nil if there are none.
	productTo, products []int32
	factorLists

	bound   float32
	scratch sync.Pool // of *scratch
}

// phases holds the base features of modulus 1. Feature j has codes[start[j] : start[j]+size[j]]. Within a
// chunk features are sorted by their number of phases, and order has their indices.
type phases struct {
	codes       []int32
	start, size []int32
	order       []uint16
	chunks      []chunkSpan
}

// chunkSpan describes a chunk: where its codes begin, and the ends, in order, of the features with 0, 1, …
// short phases.
type chunkSpan struct {
	codes int32
	ends  [short + 1]uint16
}

var _ features.Gridded = (*Map)(nil)

// newMap arranges the features. It keeps references to parts of d. If bound is 0 it computes the bound.
func newMap(book *codebook, d *distinct, bound float32) (*Map, error) {
	n := d.len()
	m := &Map{
		book: book, out: n, draws: d.draws, counts: d.counts,
		weights: make([]float32, n),
		phases: phases{codes: make([]int32, 0, len(d.codes)), start: make([]int32, n), size: make([]int32, n),
			order: make([]uint16, n)},
	}
	if len(d.factors) > 0 {
		m.factorLists = d.factorLists
	}
	if book.phases < book.codes {
		m.productTo = make([]int32, n)
	}
	for j := range n {
		amplitude := float64(d.counts[j])
		if d.isComplex[j] {
			amplitude *= 2 // √2·R·cos(θ + b), b ∈ {0, π/2} (comment 1 of the paper)
		}
		m.weights[j] = float32(math.Sqrt(amplitude / float64(d.draws)))
		lo, hi := span(d.ends, j)
		codes := d.codes[lo:hi]
		m.size[j] = int32(len(codes))
		if m.productTo != nil {
			k := int32(len(codes))
			for k > 0 && codes[k-1] >= book.phases {
				k--
			}
			m.size[j] = k
			m.products = append(m.products, codes[k:]...)
			m.productTo[j] = int32(len(m.products))
		}
	}
	for first := 0; first < n; first += chunk {
		m.arrange(d, first, min(first+chunk, n))
	}
	m.bound = bound
	if bound > 0 {
		return m, nil
	}
	return m, m.findBound()
}

// arrange sorts the features of a chunk by their number of phases.
func (m *Map) arrange(d *distinct, first, end int) {
	order := m.order[first:end]
	for i := range order {
		order[i] = uint16(i)
	}
	slices.SortStableFunc(order, func(a, b uint16) int {
		return int(min(m.size[first+int(a)], short+1)) - int(min(m.size[first+int(b)], short+1))
	})
	c := chunkSpan{codes: int32(len(m.codes))}
	for _, o := range order {
		j := first + int(o)
		m.start[j] = int32(len(m.codes))
		lo, _ := span(d.ends, j)
		m.codes = append(m.codes, d.codes[lo:lo+m.size[j]]...)
		for k := m.size[j]; k <= short; k++ {
			c.ends[k]++
		}
	}
	m.chunks = append(m.chunks, c)
}

// findBound sets the bound of the features that are not constant.
func (m *Map) findBound() error {
	var largest float64
	for j := range m.out {
		if !m.constant(j) {
			largest = max(largest, float64(m.weights[j])*m.modulus(j))
		}
	}
	if largest == 0 {
		largest = 1 // a constant map may have any bound
	}
	m.bound = float32(largest)
	if float64(m.bound) < largest {
		m.bound = math.Nextafter32(m.bound, math.MaxFloat32)
	}
	if !(largest <= 1e30) {
		return errors.New("skeleton: features have a bound beyond 10³⁰, of the many coordinates of a sphere that are " +
			"multiplied; take an activation of lower degree")
	}
	return nil
}

// constant reports whether feature j is the empty product.
func (m *Map) constant(j int) bool { return m.size[j] == 0 && m.modulus(j) == 1 && !m.hasFactors(j) }

func (m *Map) hasFactors(j int) bool {
	if m.factorTo == nil {
		return false
	}
	lo, hi := span(m.factorTo, j)
	return lo < hi
}

// modulus returns the largest modulus of the product of feature j.
func (m *Map) modulus(j int) float64 {
	r := 1.0
	if m.productTo != nil {
		lo, hi := span(m.productTo, j)
		for _, c := range m.products[lo:hi] {
			r *= m.book.leaves[m.book.owner[c]].bound()
		}
	}
	if m.factorTo != nil {
		lo, hi := span(m.factorTo, j)
		for _, f := range m.factors[lo:hi] {
			r *= m.book.leaves[f.leaf].bound()
		}
	}
	return r
}

// Dims implements features.Map.
func (m *Map) Dims() (in, out int) { return m.book.columns, m.out }

// Draws returns the number M of draws that the features stand for.
func (m *Map) Draws() int64 { return m.draws }

// Step returns 1/127 of the bound of the recipe or, if it has none, of the largest magnitude of a feature
// that is not constant, for rows in the base spaces. The bound is reached if all base features have
// modulus 1; each sphere factor multiplies it by √(d/2) or √d.
func (m *Map) Step() float64 { return float64(m.bound) / 127 }

// Apply stores the features of the n rows of x in dst. A row with NaN or
// infinity gets NaN in any of its features. It panics if a slice is too short.
func (m *Map) Apply(dst, x []float32, n int) { m.applyRange(dst, x, n, 0, m.out) }

// Quantize stores the features of n ≤ features.MaxRows rows of x on the grid, and returns how many were out
// of bounds: only sphere columns that are no unit vector can cause that.
//
// The constant feature, which may be far larger than all others, is clipped to the bound. With an intercept
// that is not regularised this makes no difference. Quantize panics if x is too short.
func (m *Map) Quantize(dst *features.Grid, x []float32, n, threads int) (saturated int64) {
	if n < 0 || n > blas.MaxRows || len(x) < n*m.book.columns {
		panic("skeleton: Quantize: slice too short, or too many rows")
	}
	if dst.D() != m.out {
		panic("skeleton: Quantize: a Grid with another number of features than the map")
	}
	var large []int // columns of the constant feature
	for j, w := range m.weights {
		if w > m.bound && m.constant(j) {
			large = append(large, j)
		}
	}
	dst.Resize(n)
	var count atomic.Int64
	parallel.Ranges(n, gridRun, threads, func(lo, hi int) {
		z, _ := gridRows.Get().(*[]float32)
		if z == nil {
			z = new([]float32)
		}
		blas.Grow(z, gridRun*m.out)
		for i := lo; i < hi; i += gridRun {
			rows := min(gridRun, hi-i)
			m.Apply(*z, x[i*m.book.columns:], rows)
			for _, j := range large {
				for r := range rows {
					(*z)[r*m.out+j] = m.bound
				}
			}
			count.Add(dst.QuantizeRows(i, *z, rows, m.bound))
		}
		gridRows.Put(z)
	})
	return count.Load()
}

// gridRun is the number of rows whose features are in float32 together; a multiple of 4.
const gridRun = 16

// gridRows holds float32 features of some rows, of any map, for Quantize.
var gridRows sync.Pool

// Cooccurrences counts, for each of the given columns, the draws whose feature depends on it and on column 0, 1,
// …: counts[i*in + c] is the number of draws with both columns[i] and c, and counts[i*in + columns[i]] the
// number with columns[i]. A count divided by Draws is the probability in the paper's Figure 4. Columns that
// cancelled, as in z·z̄, are not in a feature. Cooccur panics if a column does not exist.
func (m *Map) Cooccurrences(columns []int) (counts []int64) {
	in := m.book.columns
	counts = make([]int64, len(columns)*in)
	wanted := make([][]int, in) // indices of a column in columns
	for i, c := range columns {
		wanted[c] = append(wanted[c], i)
	}
	m.eachSet(func(set []int32, times int64) {
		for _, a := range set {
			for _, i := range wanted[a] {
				for _, c := range set {
					counts[i*in+int(c)] += times
				}
			}
		}
	})
	return counts
}

// Occurrences counts, for each column, the draws whose feature depends on it.
func (m *Map) Occurrences() (counts []int64) {
	counts = make([]int64, m.book.columns)
	m.eachSet(func(set []int32, times int64) {
		for _, c := range set {
			counts[c] += times
		}
	})
	return counts
}

// eachSet calls f with the set of columns of each feature, valid until the next call, and the number of its
// draws.
func (m *Map) eachSet(f func(set []int32, times int64)) {
	var set []int32
	for j := range m.out {
		set = m.columnsOf(set[:0], j)
		f(set, m.counts[j])
	}
}

// columnsOf appends the columns that feature j depends on to set, in order.
func (m *Map) columnsOf(set []int32, j int) []int32 {
	for _, c := range m.codes[m.start[j]:][:m.size[j]] {
		set = append(set, m.book.columnsOf(c)...)
	}
	if m.productTo != nil {
		lo, hi := span(m.productTo, j)
		for _, c := range m.products[lo:hi] {
			set = append(set, m.book.columnsOf(c)...)
		}
	}
	if m.factorTo != nil {
		lo, hi := span(m.factorTo, j)
		for _, f := range m.factors[lo:hi] {
			set = append(set, m.book.leaves[f.leaf].columns...)
		}
	}
	slices.Sort(set)
	return slices.Compact(set)
}

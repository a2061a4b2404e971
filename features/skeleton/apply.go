package skeleton

import (
	"math"

	"github.com/bochner-ml/bochner/internal/blas"
)

// tableNumbers limits the tables of rows that are processed together: 1 MiB, most of a second-level cache.
const tableNumbers = 1 << 18

// scratch is the working memory of one call of applyRange.
type scratch struct {
	phases  []float32      // tables of some rows: phases by code, in turns
	others  []complex128   // their tables of codes that are not phases
	vectors []float32      // their vectors v
	turns   [chunk]float32 // angles of the features of a chunk, in turns
	cos     [chunk]float32
	both    [2 * chunk]float32
	circles []float32 // angles of the circles of a hybrid, then their cosines and sines
}

// applyRange stores features first … first+count−1 of the n rows of x in dst (n×count, row-major), with the
// same bits as Apply. It panics if a slice is too short or there are no such features.
func (m *Map) applyRange(dst, x []float32, n, first, count int) {
	columns := m.book.columns
	if n < 0 || len(x) < n*columns || first < 0 || count < 0 || first > m.out-count || len(dst) < n*count {
		panic("skeleton: Apply: slice too short, or features out of range")
	}
	if n == 0 || count == 0 {
		return
	}
	s, _ := m.scratch.Get().(*scratch)
	if s == nil {
		s = new(scratch)
	}
	b := m.book
	run := max(1, min(n, 16, tableNumbers/int(b.codes+b.vectors)))
	blas.Grow(&s.phases, run*int(b.phases))
	blas.Grow(&s.others, run*int(b.codes-b.phases))
	blas.Grow(&s.vectors, run*int(b.vectors))
	for row := 0; row < n; row += run {
		rows := min(run, n-row)
		for i := range rows {
			t := s.table(b, i)
			b.look(s, &t, x[(row+i)*columns:(row+i+1)*columns])
		}
		for c := first / chunk; c*chunk < first+count; c++ {
			lo, hi := max(first, c*chunk), min(first+count, (c+1)*chunk, m.out)
			for i := range rows {
				m.chunk(s, c, s.table(b, i))
				to := dst[(row+i)*count+lo-first:][:hi-lo]
				from, weights := s.cos[lo-c*chunk:][:len(to)], m.weights[lo:hi][:len(to)]
				for k, w := range weights {
					to[k] = from[k] * w
				}
			}
		}
	}
	m.scratch.Put(s)
}

// table holds the values of a row from which its features are computed.
type table struct {
	phases  []float32
	others  []complex128
	vectors []float32
}

func (s *scratch) table(b *codebook, i int) table {
	others := int(b.codes - b.phases)
	return table{
		s.phases[i*int(b.phases):][:b.phases],
		s.others[i*others:][:others],
		s.vectors[i*int(b.vectors):][:b.vectors],
	}
}

// look fills the table of a row.
func (b *codebook) look(s *scratch, t *table, x []float32) {
	t.phases[quarter] = 0.25
	for i := range b.leaves {
		l := &b.leaves[i]
		switch l.kind {
		case angle:
			u := l.turns(x)
			t.phases[l.code], t.phases[l.code+1] = u, -u
		case sign:
			t.phases[l.code] = 0
			if !(x[l.columns[0]] > 0) {
				t.phases[l.code] = 0.5
			}
		case category:
			l.categories(t.phases[l.code:l.code+l.n], x)
		case pair:
			r, d := l.bound(), len(l.columns)
			to := t.others[l.code-b.phases:]
			for j, c := range l.columns {
				re, im := float64(r*float64(x[c])), float64(r*float64(x[l.columns[(j+1)%d]]))
				to[2*j], to[2*j+1] = complex(re, im), complex(re, -im)
			}
		case coordinate:
			r := l.bound()
			to := t.others[l.code-b.phases:]
			for j, c := range l.columns {
				to[j] = complex(float64(r*float64(x[c])), 0)
			}
		case hybrid:
			l.join(s, t.vectors[l.at:l.at+l.n], x)
		default:
			for j, c := range l.columns {
				t.vectors[int(l.at)+j] = x[c]
			}
		}
	}
}

// turns returns the angle of a circle in turns, from −½ to ½.
func (l *leaf) turns(x []float32) float32 {
	return reduce(x[l.columns[0]] / float32(l.space.Circle))
}

// reduce returns t minus the nearest integer, which is exact.
func reduce(t float32) float32 { return t - float32(math.RoundToEven(float64(t))) }

// categories stores the phase ω·c/n for each ω < n, reduced and rounded to float32.
func (l *leaf) categories(to []float32, x []float32) {
	c, ok := categoryOf(x[l.columns[0]], int(l.n))
	if !ok {
		for i := range to {
			to[i] = float32(math.NaN())
		}
		return
	}
	n := int(l.n)
	for omega := range to {
		r := omega * c % n // below 2³²
		if 2*r > n {
			r -= n
		}
		to[omega] = float32(float64(r) / float64(n))
	}
}

// join stores the linear inputs of a hybrid: cosine and sine for a circle, the sign for a binary node, the
// columns for a sphere.
func (l *leaf) join(s *scratch, to []float32, x []float32) {
	whole := (len(l.inputs) + lanes - 1) / lanes
	blas.Grow(&s.circles, 3*whole*lanes)
	turns, both := s.circles[:whole*lanes], s.circles[whole*lanes:]
	clear(turns)
	for i := range l.inputs {
		if in := &l.inputs[i]; in.kind == angle {
			turns[i] = in.turns(x)
		}
	}
	identity.CosSin(both, turns, whole, 1, 1)
	for i := range l.inputs {
		switch in := &l.inputs[i]; in.kind {
		case angle:
			at := i/lanes*2*lanes + i%lanes
			to[0], to[1] = both[at], both[at+lanes]
			to = to[2:]
		case sign:
			to[0] = -1
			if x[in.columns[0]] > 0 {
				to[0] = 1
			}
			to = to[1:]
		default:
			for j, c := range in.columns {
				to[j] = x[c]
			}
			to = to[len(in.columns):]
		}
	}
}

// chunk stores the features of chunk c, without their weights, in s.cos. Entries after the last feature of
// the map are undefined.
func (m *Map) chunk(s *scratch, c int, t table) {
	m.gather(&s.turns, c, t.phases)
	first := c * chunk
	n := min(chunk, m.out-first)
	if m.factorTo != nil {
		m.addWaves(s.turns[:n], first, t.vectors)
	}
	whole := (n + lanes - 1) / lanes
	clear(s.turns[n:min(chunk, whole*lanes)]) // remove NaN of an earlier row
	if m.productTo == nil && !m.book.projecting {
		identity.Cos(s.cos[:], s.turns[:], whole, 1, 1)
		return
	}
	identity.CosSin(s.both[:], s.turns[:], whole, 1, 1)
	for j := range n {
		at := j/lanes*2*lanes + j%lanes
		re, im := m.product(first+j, t)
		s.cos[j] = float32(float64(float64(s.both[at])*re) - float64(float64(s.both[at+lanes])*im))
	}
}

// gather adds the phases of the features of chunk c.
func (m *Map) gather(turns *[chunk]float32, c int, p []float32) {
	first := c * chunk
	order := m.order[first:min(first+chunk, m.out)]
	at := &m.chunks[c]
	codes := m.codes[at.codes:]
	for _, j := range order[:at.ends[0]] {
		turns[j%chunk] = 0
	}
	for i, j := range order[at.ends[0]:at.ends[1]] {
		turns[j%chunk] = p[codes[i]]
	}
	codes = codes[at.ends[1]-at.ends[0]:]
	for _, j := range order[at.ends[1]:at.ends[2]] {
		two := (*[2]int32)(codes)
		turns[j%chunk] = p[two[0]] + p[two[1]]
		codes = codes[2:]
	}
	for _, j := range order[at.ends[2]:at.ends[3]] {
		three := (*[3]int32)(codes)
		turns[j%chunk] = p[three[0]] + p[three[1]] + p[three[2]]
		codes = codes[3:]
	}
	for _, j := range order[at.ends[3]:at.ends[4]] {
		four := (*[4]int32)(codes)
		turns[j%chunk] = p[four[0]] + p[four[1]] + p[four[2]] + p[four[3]]
		codes = codes[4:]
	}
	for k := 5; k <= short; k++ {
		for _, j := range order[at.ends[k-1]:at.ends[k]] {
			turns[j%chunk] = total(codes[:k], p)
			codes = codes[k:]
		}
	}
	for _, j := range order[at.ends[short]:] {
		k := m.size[first+int(j)]
		turns[j%chunk] = total(codes[:k], p)
		codes = codes[k:]
	}
}

// total adds the phases in the order of the codes.
func total(codes []int32, p []float32) (sum float32) {
	for _, c := range codes {
		sum += p[c]
	}
	return sum
}

// addWaves adds the phases ω·v of the factors of features first, first+1, ….
func (m *Map) addWaves(turns []float32, first int, vectors []float32) {
	for j := range turns {
		lo, hi := span(m.factorTo, first+j)
		for _, f := range m.factors[lo:hi] {
			if l := &m.book.leaves[f.leaf]; l.kind != projection {
				turns[j] += reduce(blas.Dot(m.values[f.at:f.at+l.n], vectors[l.at:l.at+l.n]))
			}
		}
	}
}

// product returns the product of the base features of feature j that do not have modulus 1.
func (m *Map) product(j int, t table) (re, im float64) {
	re = 1
	if m.productTo != nil {
		lo, hi := span(m.productTo, j)
		for _, c := range m.products[lo:hi] {
			v := t.others[c-m.book.phases]
			// Written out because a complex product may be fused.
			re, im = float64(re*real(v))-float64(im*imag(v)), float64(re*imag(v))+float64(im*real(v))
		}
	}
	if m.factorTo != nil {
		lo, hi := span(m.factorTo, j)
		for _, f := range m.factors[lo:hi] {
			if l := &m.book.leaves[f.leaf]; l.kind == projection {
				v := float64(blas.Dot(m.values[f.at:f.at+l.n], t.vectors[l.at:l.at+l.n]))
				re, im = float64(re*v), float64(im*v)
			}
		}
	}
	return re, im
}

const lanes = 16

// identity maps 16 numbers to themselves, exactly: its products with 0 and 1 and sums with 0 are exact. So
// its cosines are the cosines of a vector of angles. A NaN spreads to all 16 numbers.
var identity = func() *blas.Weights {
	var w [lanes * lanes]float32
	for i := range lanes {
		w[i*lanes+i] = 1
	}
	return blas.Pack(w[:], nil, lanes, lanes)
}()

package preprocess

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
)

// columnMap is the map of Columns. It is immutable and safe for concurrent use.
type columnMap struct {
	in, out int
	slots   []step
	dense   int        // number of numbers before the one-hot slots
	hot     []float32  // values of the one-hot numbers where they are not 0
	short   *columnMap // the map to the short form of rows; nil in that map
}

var (
	_ features.ShortFormMap = (*columnMap)(nil)
	_ features.MissingTaker = (*columnMap)(nil)
)

// step computes the numbers of one slot.
type step struct {
	values        int       // number of values of a category; 0 for a number
	table         []float32 // indices×width, for a category; nil for a one-hot slot
	indices       int       // number of parts times levels
	at            int       // index of the first number
	width         int       // number of numbers
	fill, missing float32   // for a number

	hot          float32 // value of the indicator of the row's level
	missingLevel bool    // a missing value has a level
	first        int     // index of the first level among all levels of one-hot slots
	index        bool    // short form: the only number is the index of the level among all levels of one-hot slots
}

// newMap lays out the numbers of a row: first those of numeric and lookup slots, then one-hot levels. If there are
// levels, it also makes the map to the short form, which has an index for each one-hot slot.
func newMap(r Columns) *columnMap {
	m, short := &columnMap{slots: make([]step, len(r.Slots))}, &columnMap{slots: make([]step, len(r.Slots))}
	m.in, m.out = r.Dims()
	short.in = m.in
	r.order(func(i int) {
		slot := &r.Slots[i]
		s := step{at: m.dense + len(m.hot), width: slot.width()}
		brief := &short.slots[i]
		switch {
		case slot.Number != nil:
			s.fill, s.missing = slot.Number.Fill, slot.Number.Missing
		case slot.Lookup != nil:
			s.values, s.table = slot.Lookup.Values, slices.Clone(slot.Lookup.Numbers)
			s.indices = (slot.Lookup.Parts + 1) * (s.values + 1)
		default:
			s.values, s.hot, s.missingLevel = slot.OneHot.Values, slot.OneHot.Weight, slot.OneHot.Missing
			s.first = len(m.hot)
			m.hot = append(m.hot, slices.Repeat([]float32{s.hot}, s.width)...)
			*brief = s
			brief.at, brief.width, brief.index = short.out, 1, true
			short.out++
			m.slots[i] = s
			return
		}
		m.dense += s.width
		short.out += s.width
		m.slots[i], *brief = s, s
	})
	if len(m.hot) > 0 {
		m.short = short
	}
	return m
}

// ShortForm returns the map to the short form of rows: the numbers before the one-hot slots, and then an
// index for each of these slots. It returns nil if there are none.
func (m *columnMap) ShortForm() (features.Map, *features.ShortForm) {
	if m.short == nil {
		return nil, nil
	}
	return m.short, &features.ShortForm{Dense: m.dense, Groups: m.short.out - m.dense, Hot: m.hot}
}

// Dims returns the number of slots and of numbers.
func (m *columnMap) Dims() (in, out int) { return m.in, m.out }

// TakesMissing returns true: NaN is a missing value.
func (m *columnMap) TakesMissing() bool { return true }

// Apply stores the numbers of the n rows of x in dst, which must not be x. It panics if a slice is too short.
func (m *columnMap) Apply(dst, x []float32, n int) {
	if n < 0 || len(x) < n*m.in || len(dst) < n*m.out {
		panic("columns: Apply: slice too short")
	}
	for i := range n {
		m.row(dst[i*m.out:(i+1)*m.out], x[i*m.in:(i+1)*m.in])
	}
}

// row stores in dst the numbers of the row x, which has one value per slot.
func (m *columnMap) row(dst, x []float32) {
	for i, v := range x {
		s := &m.slots[i]
		to := dst[s.at:][:s.width]
		switch {
		case s.values == 0:
			to[0] = v
			if math.IsNaN(float64(v)) {
				to[0] = s.fill
			}
			if s.width == 2 {
				to[1] = 0
				if math.IsNaN(float64(v)) {
					to[1] = s.missing
				}
			}
		case s.table != nil:
			level := levelOf(v, s.indices)
			if level == s.indices {
				level = s.values
			}
			copy(to, s.table[level*s.width:])
		case s.index:
			to[0] = -1
			if level := levelOf(v, s.values); level < s.values || s.missingLevel && math.IsNaN(float64(v)) {
				to[0] = float32(s.first + level)
			}
		default:
			clear(to)
			if level := levelOf(v, s.values); level < s.values || s.missingLevel && math.IsNaN(float64(v)) {
				to[level] = s.hot
			}
		}
	}
}

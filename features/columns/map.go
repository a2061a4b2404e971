package columns

import (
	"slices"

	"github.com/bochner-ml/bochner/features"
)

// Map makes numbers of slots. It is immutable and safe for concurrent use.
type Map struct {
	in, out int
	slots   []step
}

var _ features.Map = (*Map)(nil)

// step makes the numbers of one slot.
type step struct {
	number
	values int       // of a category; 0 for a number
	hot    float32   // the number of the row's level
	table  []float32 // (values+1)×out
	at     int       // index of the first number
	width  int       // how many there are
	own    bool      // a missing value has a level of its own
}

type number struct{ fill, missing float32 }

func newMap(r Recipe) *Map {
	m := &Map{slots: make([]step, len(r.Slots))}
	m.in, m.out = r.Dims()
	at := 0
	for i := range r.Slots {
		slot := &r.Slots[i]
		s := step{at: at, width: slot.width()}
		switch {
		case slot.Number != nil:
			s.number = number{slot.Number.Fill, slot.Number.Missing}
		case slot.OneHot != nil:
			s.values, s.hot, s.own = slot.OneHot.Values, slot.OneHot.Weight, slot.OneHot.Missing
		default:
			s.values, s.table = slot.Table.Values, slices.Clone(slot.Table.Numbers)
		}
		m.slots[i] = s
		at += s.width
	}
	return m
}

// Dims returns the number of slots and of numbers.
func (m *Map) Dims() (in, out int) { return m.in, m.out }

// Apply stores the numbers of the n rows of x in dst, which may not be x. It panics if a slice is
// too short.
func (m *Map) Apply(dst, x []float32, n int) {
	if n < 0 || len(x) < n*m.in || len(dst) < n*m.out {
		panic("columns: Apply: slice too short")
	}
	for i := range n {
		m.row(dst[i*m.out:(i+1)*m.out], x[i*m.in:(i+1)*m.in])
	}
}

func (m *Map) row(dst, x []float32) {
	for i, v := range x {
		s := &m.slots[i]
		to := dst[s.at:][:s.width]
		switch {
		case s.values == 0:
			to[0] = v
			if v != v {
				to[0] = s.fill
			}
			if s.width == 2 {
				to[1] = 0
				if v != v {
					to[1] = s.missing
				}
			}
		case s.table != nil:
			copy(to, s.table[s.level(v)*s.width:])
		default:
			clear(to)
			if level := s.level(v); level < s.values || s.own && v != v {
				to[level] = s.hot
			}
		}
	}
}

// level returns the level whose index is v, and the number of levels for NaN and any number that
// is not an index.
func (s *step) level(v float32) int {
	if v >= 0 && v < float32(s.values) {
		if level := int(v); float32(level) == v {
			return level
		}
	}
	return s.values
}

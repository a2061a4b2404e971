package schema

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// cells count numbers in intervals, all of the same width on the scale of orderOf. They are
// as narrow as a bound on their number allows. Which these are depends on the numbers alone,
// because numbers that are added only make intervals wider.
type cells struct {
	shift uint // an interval has 1<<shift float64
	n     map[uint64]int64
}

// add counts a number n times, in at most limit intervals.
func (c *cells) add(v float64, n int64, limit int) {
	if c.n == nil {
		c.n = make(map[uint64]int64)
	}
	c.n[orderOf(v)>>c.shift] += n
	c.bound(limit)
}

// bound widens intervals until there are at most limit of them.
func (c *cells) bound(limit int) {
	for len(c.n) > limit && c.shift < 63 {
		c.widen(c.shift + 1)
	}
}

func (c *cells) widen(shift uint) {
	if shift <= c.shift {
		return
	}
	wide := make(map[uint64]int64, len(c.n))
	for k, n := range c.n {
		wide[k>>(shift-c.shift)] += n
	}
	c.shift, c.n = shift, wide
}

// merge adds the numbers of d, which is not changed.
func (c *cells) merge(d *cells, limit int) {
	if len(d.n) == 0 {
		return
	}
	if c.n == nil {
		c.n = make(map[uint64]int64)
	}
	c.widen(d.shift)
	for k, n := range d.n {
		c.n[k>>(c.shift-d.shift)] += n
	}
	c.bound(limit)
}

// orderOf maps numbers to whole numbers in the same order.
func orderOf(v float64) uint64 {
	b := math.Float64bits(v + 0)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// numberAt is the inverse of orderOf.
func numberAt(k uint64) float64 {
	if k>>63 != 0 {
		return math.Float64frombits(k &^ (1 << 63))
	}
	return math.Float64frombits(^k)
}

// piece is an interval with the number of values in it.
type piece struct {
	from, to float64
	n        int64
}

// pieces returns the intervals in ascending order, within [lo, hi], which holds all numbers.
func (c *cells) pieces(lo, hi float64) []piece {
	var all []piece
	for _, k := range slices.Sorted(maps.Keys(c.n)) {
		p := piece{numberAt(k << c.shift), numberAt(k<<c.shift | (1<<c.shift - 1)), c.n[k]}
		// The ends of an interval beyond all numbers may be no numbers at all.
		if !(p.from >= lo) {
			p.from = lo
		}
		if !(p.to <= hi) {
			p.to = hi
		}
		all = append(all, p)
	}
	return all
}

// quantile returns the value below which a share q of the numbers lies, and the most that it
// may be off.
func quantile(all []piece, q float64) (value, within float64) {
	slices.SortFunc(all, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	var total int64
	for _, p := range all {
		total += p.n
	}
	rank := int64(math.Floor(q * float64(total-1))) // of the value, from 0
	for _, p := range all {
		if rank < p.n {
			return p.from/2 + p.to/2, p.to/2 - p.from/2
		}
		rank -= p.n
	}
	return 0, 0
}

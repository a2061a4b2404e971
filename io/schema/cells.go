package schema

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
)

// cells is a histogram of float64 numbers. All intervals have the same width on the scale of
// rowio.OrderedKey, as narrow as a limit on their number allows. Adding numbers only ever widens the
// intervals, so the histogram depends on the numbers alone, not on their order.
type cells struct {
	shift uint   // an interval has 1<<shift float64
	table []cell // by hash of the key; a power of two of them, more than half of them empty
	used  int
}

// cell is an interval: the numbers whose order, shifted, is key. It is empty if n is 0.
type cell struct {
	key uint64
	n   int64
}

// add counts a number n times, in at most limit intervals.
func (c *cells) add(v float64, n int64, limit int) {
	c.count(rowio.OrderedKey(v)>>c.shift, n)
	c.bound(limit)
}

// count adds to an interval.
func (c *cells) count(key uint64, n int64) {
	if 2*c.used >= len(c.table) {
		c.rebuild(max(32, 2*len(c.table)), 0)
	}
	mask := uint64(len(c.table) - 1)
	for at := key * 0x9e3779b97f4a7c15 >> 32 & mask; ; at = (at + 1) & mask {
		switch e := &c.table[at]; {
		case e.n == 0:
			*e = cell{key, n}
			c.used++
			return
		case e.key == key:
			e.n += n
			return
		}
	}
}

// rebuild makes a table of size places, with intervals 1<<more times as wide.
func (c *cells) rebuild(size int, more uint) {
	old := c.table
	c.table, c.used, c.shift = make([]cell, size), 0, c.shift+more
	for _, e := range old {
		if e.n > 0 {
			c.count(e.key>>more, e.n)
		}
	}
}

// bound widens intervals until there are at most limit of them.
func (c *cells) bound(limit int) {
	for c.used > limit && c.shift < 63 {
		c.rebuild(len(c.table), 1)
	}
}

// merge adds the numbers of d, which is not changed.
func (c *cells) merge(d *cells, limit int) {
	if d.used == 0 {
		return
	}
	if d.shift > c.shift {
		c.rebuild(max(32, len(c.table)), d.shift-c.shift)
	}
	for _, e := range d.table {
		if e.n > 0 {
			c.count(e.key>>(c.shift-d.shift), e.n)
		}
	}
	c.bound(limit)
}

// sorted returns the intervals in ascending order.
func (c *cells) sorted() []cell {
	sorted := slices.DeleteFunc(slices.Clone(c.table), func(e cell) bool { return e.n == 0 })
	slices.SortFunc(sorted, func(a, b cell) int { return cmp.Compare(a.key, b.key) })
	return sorted
}

// piece is an interval with the number of values in it.
type piece struct {
	From, To float64
	N        int64
}

// pieces returns the intervals in ascending order, within [lo, hi], which holds all numbers.
func (c *cells) pieces(lo, hi float64) []piece {
	var all []piece
	for _, e := range c.sorted() {
		p := piece{rowio.KeyNumber(e.key << c.shift), rowio.KeyNumber(e.key<<c.shift | (1<<c.shift - 1)), e.n}
		// The ends of an interval beyond all numbers may be no numbers at all.
		if !(p.From >= lo) {
			p.From = lo
		}
		if !(p.To <= hi) {
			p.To = hi
		}
		all = append(all, p)
	}
	return all
}

// quantile returns the value below which a share q of the numbers lies, and a bound on its error.
func quantile(all []piece, q float64) (value, within float64) {
	slices.SortFunc(all, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	var total int64
	for _, p := range all {
		total += p.N
	}
	rank := int64(math.Floor(q * float64(total-1))) // 0-based
	for _, p := range all {
		if rank < p.N {
			return p.From/2 + p.To/2, p.To/2 - p.From/2
		}
		rank -= p.N
	}
	return 0, 0
}

// code codes at most limit intervals, in ascending order, which count the given number of numbers.
func (c *cells) code(w *wire.Coder, limit int, numbers uint64) {
	c.shift = uint(w.Byte(int(c.shift), 63))
	all, last := c.sorted(), uint64(0)
	wire.Each(w, &all, limit, func(e *cell) {
		e.key = w.Uvarint(e.key, math.MaxUint64>>c.shift)
		n := w.Uvarint(uint64(e.n), numbers)
		if w.Check(n > 0 && (c.used == 0 || e.key > last)); w.Reading() {
			c.count(e.key, int64(n))
		}
		numbers, last = numbers-n, e.key
	})
	w.Check(c.used > 0 && numbers == 0)
}

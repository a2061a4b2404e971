package schema

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
)

// cells is a histogram of float64 numbers. All intervals have the same width on the scale of
// rowio.OrderedKey, as narrow as a limit on their number allows. Adding numbers only ever widens the
// intervals, so the histogram depends only on the numbers, not on their order.
type cells struct {
	shift uint             // an interval has 1<<shift float64
	n     map[uint64]int64 // numbers in the intervals, by their orders, shifted
}

// add counts a number n times, in at most limit intervals.
func (c *cells) add(v float64, n int64, limit int) {
	c.count(rowio.OrderedKey(v)>>c.shift, n)
	c.bound(limit)
}

// count adds to an interval.
func (c *cells) count(key uint64, n int64) {
	if c.n == nil {
		c.n = map[uint64]int64{}
	}
	c.n[key] += n
}

// widen makes intervals 1<<more times as wide.
func (c *cells) widen(more uint) {
	old := c.n
	c.n, c.shift = make(map[uint64]int64, len(old)), c.shift+more
	for key, n := range old {
		c.n[key>>more] += n
	}
}

// bound widens intervals until there are at most limit of them.
func (c *cells) bound(limit int) {
	for len(c.n) > limit && c.shift < 63 {
		c.widen(1)
	}
}

// merge adds the numbers of d, which is not changed.
func (c *cells) merge(d *cells, limit int) {
	if len(d.n) == 0 {
		return
	}
	if d.shift > c.shift {
		c.widen(d.shift - c.shift)
	}
	for key, n := range d.n {
		c.count(key>>(c.shift-d.shift), n)
	}
	c.bound(limit)
}

// keys returns the keys of the intervals in ascending order.
func (c *cells) keys() []uint64 { return slices.Sorted(maps.Keys(c.n)) }

// piece is an interval with the number of values in it.
type piece struct {
	From, To float64
	N        int64
}

// pieces returns the intervals in ascending order, within [lo, hi], which holds all numbers.
func (c *cells) pieces(lo, hi float64) []piece {
	var all []piece
	for _, key := range c.keys() {
		p := piece{rowio.KeyNumber(key << c.shift), rowio.KeyNumber(key<<c.shift | (1<<c.shift - 1)), c.n[key]}
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
	keys, last := c.keys(), uint64(0)
	wire.Each(w, &keys, limit, func(key *uint64) {
		*key = w.Uvarint(*key, math.MaxUint64>>c.shift)
		n := w.Uvarint(uint64(c.n[*key]), numbers)
		if w.Check(n > 0 && (len(c.n) == 0 || *key > last)) && w.Reading() {
			c.count(*key, int64(n))
		}
		numbers -= n
		last = *key
	})
	w.Check(len(c.n) > 0 && numbers == 0)
}

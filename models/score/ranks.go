package score

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
)

// MaxCells is the largest number of different values that ranks distinguish, and the default. A cell
// takes 24 bytes, and about 70 while rows are added.
const MaxCells = 1 << 20

// ranks counts float32 values of two kinds in their order: scores of rows of a class and
// of other rows, or errors. From the counts follow the area under a ROC curve, average
// precision and quantiles.
//
// Each different value has its own cell as long as there are no more than the limit. Beyond it, the last
// bits of all values are dropped, as few as possible, and results have bounds for the unknown order within
// a cell. Which bits are dropped depends only on the set of values, so the counts are a function of the
// rows, however they were cut, ordered and merged.
//
// The zero value is empty, with the limit MaxCells. It is not safe for concurrent use.
type ranks struct {
	limit int      // of cells; 0 means MaxCells
	shift uint     // bits dropped
	cells []cell   // ascending by key
	rows  [2]int64 // by kind
	// tail holds values that are not yet in cells: order<<32 | kind<<31 | rows.
	tail []uint64

	spare  []cell   // memory to reuse for cells
	sorted []uint64 // memory to sort the tail in
}

// cell counts the values that have the same key after bits are dropped.
type cell struct {
	key uint32
	n   [2]int64 // by kind
}

// tailRows is the largest number of rows of an entry of the tail.
const tailRows = 1<<31 - 1

// newRanks returns an empty count that distinguishes up to limit values. It panics unless
// 2 ≤ limit ≤ MaxCells.
func newRanks(limit int) *ranks {
	if limit < 2 || limit > MaxCells {
		panic("score: limit of ranks out of range")
	}
	return &ranks{limit: limit}
}

func (r *ranks) most() int {
	if r.limit == 0 {
		return MaxCells
	}
	return r.limit
}

// order maps finite values to integers in the same order. −0 counts as 0.
func order(v float32) uint32 {
	b := math.Float32bits(v + 0)
	if b>>31 != 0 {
		return ^b
	}
	return b | 1<<31
}

// value is the inverse of order, clamped to finite values.
func value(key uint32) float32 {
	key = min(max(key, order(-math.MaxFloat32)), order(math.MaxFloat32))
	if key>>31 != 0 {
		return math.Float32frombits(key &^ (1 << 31))
	}
	return math.Float32frombits(^key)
}

// Add counts rows ≥ 0 rows with the value v, of kind 0 or 1. It panics if v is not
// finite.
func (r *ranks) Add(v float32, kind int, rows int64) {
	if !exact.Finite(v) || rows < 0 {
		panic("score: rank of a value that is not finite, or of negative rows")
	}
	r.rows[kind&1] += rows
	head := uint64(order(v))<<32 | uint64(kind&1)<<31
	for rows > 0 {
		n := min(rows, tailRows)
		rows -= n
		if len(r.tail) == cap(r.tail) {
			r.room()
		}
		r.tail = append(r.tail, head|uint64(n))
	}
}

// room makes room in the tail. The tail is sorted when it has an eighth of the limit, but at most the
// larger of 2¹⁴ values and half of the cells.
func (r *ranks) room() {
	most := max(min(r.most()/8, 1<<14), len(r.cells)/2, 64)
	if len(r.tail) < most {
		r.tail = slices.Grow(r.tail, min(max(len(r.tail), 64), most-len(r.tail)))
		return
	}
	r.flush()
}

// flush moves the tail to the cells.
func (r *ranks) flush() {
	if len(r.tail) == 0 {
		return
	}
	r.sortTail()
	added := make([]cell, 0, len(r.tail))
	for _, w := range r.tail {
		c := cell{key: uint32(w>>32) >> r.shift}
		c.n[w>>31&1] = int64(w & tailRows)
		added = appendCell(added, c)
	}
	r.tail = r.tail[:0]
	r.merge(added, 0)
}

// merge adds cells, ascending by key, after it drops bits of their keys. If there are then more cells than the
// limit, it drops bits of all keys, as few as possible.
func (r *ranks) merge(added []cell, shift uint) {
	merged, old := slices.Grow(r.spare[:0], len(r.cells)+len(added)), r.cells
	for _, c := range added {
		c.key >>= shift
		for len(old) > 0 && old[0].key <= c.key {
			merged, old = append(merged, old[0]), old[1:]
		}
		merged = appendCell(merged, c)
	}
	r.cells, r.spare = append(merged, old...), r.cells
	for len(r.cells) > r.most() {
		r.dropBits(1)
	}
}

// dropBits drops more bits of the keys.
func (r *ranks) dropBits(shift uint) {
	coarser := r.cells[:0]
	for _, c := range r.cells {
		c.key >>= shift
		coarser = appendCell(coarser, c)
	}
	r.cells, r.shift = coarser, r.shift+shift
}

// appendCell appends a cell, or adds its rows to the last cell if that has the same key.
func appendCell(cells []cell, c cell) []cell {
	last := len(cells) - 1
	if last < 0 || cells[last].key != c.key {
		return append(cells, c)
	}
	cells[last].n[0] += c.n[0]
	cells[last].n[1] += c.n[1]
	return cells
}

// Merge adds the rows of s. It panics if s has another limit.
func (r *ranks) Merge(s *ranks) {
	if r.most() != s.most() {
		panic("score: merge of ranks of different limits")
	}
	r.flush()
	s.flush()
	if s.shift > r.shift {
		r.dropBits(s.shift - r.shift)
	}
	r.merge(s.cells, r.shift-s.shift)
	r.rows[0] += s.rows[0]
	r.rows[1] += s.rows[1]
}

// exact reports whether each value has its own cell.
func (r *ranks) exact() bool {
	r.flush()
	return r.shift == 0
}

// ranked returns the number of rows of both kinds.
func (r *ranks) ranked() int64 { return r.rows[0] + r.rows[1] }

// ends returns the smallest and the largest value of a cell.
func (r *ranks) ends(c cell) (low, high float32) {
	first := c.key << r.shift
	return value(first), value(first | (1<<r.shift - 1))
}

// sortTail sorts the tail by order.
func (r *ranks) sortTail() {
	if len(r.tail) < 256 {
		slices.Sort(r.tail)
		return
	}
	from, to := r.tail, slices.Grow(r.sorted[:0], len(r.tail))[:len(r.tail)]
	const digits = 11 // three passes sort by the upper 32 bits and the kind
	for at := 31; at < 64; at += digits {
		var next [1 << digits]int32
		for _, w := range from {
			next[w>>at&(1<<digits-1)]++
		}
		sum := int32(0)
		for i, n := range next {
			next[i] = sum
			sum += n
		}
		for _, w := range from {
			d := w >> at & (1<<digits - 1)
			to[next[d]] = w
			next[d]++
		}
		from, to = to, from
	}
	r.tail, r.sorted = from, to
}

// Code implements wire.Coded. It writes the limit, the number of dropped bits and the number of cells. Each cell has the
// difference of its key from the one before, and its counts, all as varints. Counts of the same rows have equal
// encodings.
func (r *ranks) Code(c *wire.Coder) {
	if wire.Merged(c, new(ranks), r.Merge) {
		return
	}
	r.flush()
	limit := c.Uvarint(uint64(r.most()), MaxCells)
	shift := c.Uvarint(uint64(r.shift), 31)
	cells := c.Uvarint(uint64(len(r.cells)), limit)
	if c.Check(limit >= 2 && cells <= uint64(c.Left())) && c.Reading() {
		*r = ranks{limit: int(limit), shift: uint(shift), cells: make([]cell, cells)}
	}
	var key uint64
	for i := range r.cells {
		e := &r.cells[i]
		step := c.Uvarint(uint64(e.key)-key, math.MaxUint32)
		key += step
		for kind, n := range e.n {
			e.n[kind] = int64(c.Uvarint(uint64(n), 1<<62))
		}
		if !c.Reading() {
			continue
		}
		e.key = uint32(key)
		r.rows[0] += e.n[0]
		r.rows[1] += e.n[1]
		c.Check((step > 0 || i == 0) && e.n != [2]int64{} && key <= math.MaxUint32>>shift && r.ranked() <= 1<<62 &&
			r.ranked() >= 0)
	}
}

package schema

import (
	"math"
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
)

// leastColumn is the smallest size of an encoded column in bytes, without the codes of missing values.
const leastColumn = 3 + 1 + 4

// Code implements wire.Coded.
func (s *Survey) Code(c *wire.Coder) {
	limit := c.Byte(bits.TrailingZeros64(uint64(s.limit)), bits.TrailingZeros64(maxColumnWeight))
	rules, columns := s.rules, c.Int(len(s.columns), rowio.MaxDim+1)
	rules.Decimal, rules.Thousands = byte(c.Byte(int(rules.Decimal), 255)), byte(c.Byte(int(rules.Thousands), 255))
	wire.Each(c, &rules.Missing, maxCodes, func(code *string) { c.Text(code, maxLevelText) })
	c.Check(columns >= 1 && columns <= c.Left()/(leastColumn+len(rules.Missing)))
	if c.Reading() {
		*s = *NewSurvey(columns, rules)
		s.limit = 1 << limit
	}
	for i := range s.columns {
		column := &s.columns[i]
		column.code(c, s.maxCells())
		if c.Reading() {
			c.Check(column.weight <= s.limit)
			s.total += s.share(column)
		}
	}
	c.Check(s.total <= maxWeight || s.limit <= 1)
}

// code encodes, decodes or adds the counts of a column: fields that are null, empty or codes of missing values, the
// listed levels, and if levels were dropped, the rest and the histogram of numbers. Together they must have as many
// fields as the column.
func (c *columnCounts) code(w *wire.Coder, cells int) {
	left := w.Uvarint(uint64(c.fields), 1<<50) // fields that are not accounted for
	c.fields = int64(left)
	take := func(n *int64) {
		v := w.Uvarint(uint64(*n), left)
		*n, left = int64(v), left-v
	}
	take(&c.null)
	take(&c.empty)
	for i := range c.codes {
		take(&c.codes[i])
	}
	c.zeros = uint(w.Byte(int(c.zeros), 64))
	entries := c.levels.sorted()
	wire.Each(w, &entries, math.MaxInt32, func(e *storedLevel) {
		var stored []byte
		if !w.Reading() {
			stored = c.levels.stored(e)
		}
		e.size = uint32(w.Uvarint(uint64(e.size), math.MaxUint32))
		stored = w.Raw(stored, int(min(e.size, maxLevelText)))
		if w.Reading() {
			e.hash = xxhash.Sum64(stored)
		}
		if e.size > maxLevelText {
			w.Uint64(&e.hash)
		}
		take(&e.n)
		if !w.Reading() {
			return
		}
		w.Check(e.size > 0 && e.n > 0 && c.keeps(e.hash) && c.levels.add(e.hash, stored, e.size, e.n))
		if n := len(c.levels.entries); n > 1 {
			w.Check(c.levels.compare(&c.levels.entries[n-2], &c.levels.entries[n-1]) < 0)
		}
		c.weight += e.weight()
	})
	if c.zeros > 0 {
		c.rest.code(w, left)
		left -= uint64(c.rest.n)
		if n := c.rest.count(isNumber); n > 0 {
			c.cells.code(w, cells, uint64(n))
		}
	}
	w.Check(left == 0)
}

// code codes a tally of at most limit texts.
func (t *tally) code(w *wire.Coder, limit uint64) {
	t.n = int64(w.Uvarint(uint64(t.n), limit))
	for i, n := range t.counts {
		t.counts[i] = int64(w.Uvarint(uint64(n), uint64(t.n)))
	}
	numbers := t.count(isNumber)
	if numbers > 0 {
		w.Float64(&t.min, &t.max)
	}
	t.short, t.long = uint32(w.Uvarint(uint64(t.short), math.MaxUint32)), uint32(w.Uvarint(uint64(t.long), math.MaxUint32))
	w.Text(&t.odd, maxExample)
	negative := func(v float64) bool { return v == 0 && math.Signbit(v) }
	w.Check(t.n > 0 && t.min <= t.max && !math.IsNaN(t.max-t.min) && !negative(t.min) && !negative(t.max) &&
		t.short >= 1 && t.short <= t.long && (numbers < t.n) == (t.odd != "") && t.count(isWhole) <= numbers &&
		t.count(hasZeros) <= numbers)
}

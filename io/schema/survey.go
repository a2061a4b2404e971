package schema

import (
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rowio"
)

// Bounds on the memory of a Survey, in units of about 50 bytes: a text takes one, and one more for each 32 bytes.
const (
	maxColumnWeight = 1 << 17 // of one column
	maxWeight       = 1 << 19 // of all columns
	maxCells        = 1 << 19 // intervals of all columns, 32 to 64 bytes each
)

// Survey summarises the fields of all columns of a table: which texts occur and how often, what
// they can be read as, and how many are missing. It is an exact function of the fields of each
// column, whatever their order and however the table was cut.
//
// A column with few distinct texts counts all of them one by one. Other columns count one by one only the texts whose
// hash begins with a certain number of zero bits: a sample of the distinct texts, with exact counts. A tally summarises
// the rest. All columns together take at most about 50 MB; columns with few distinct texts keep theirs first.
//
// A Survey is not safe for concurrent use. Create it with NewSurvey.
type Survey struct {
	rules   Rules
	missing *missing
	columns []columnCounts
	limit   int64 // weight of a column
	total   int64 // weights of all texts of the columns, each at most limit
	scratch []byte
	float   []byte // the text of a number that is stored
	unit    []byte // scratch for a number without its unit
}

var _ Sink = (*Survey)(nil)

// columnCounts holds the counts of one column.
type columnCounts struct {
	fields int64
	null   int64   // fields that a format stores as missing
	empty  int64   // empty texts
	codes  []int64 // texts that mean a missing value, by index of the code
	levels levelTable
	weight int64 // of levels
	// The texts in levels are those whose hash has at least zeros leading zero bits.
	zeros uint
	rest  tally // other texts
	cells cells // the numbers among them
}

// NewSurvey returns an empty Survey of a table with at most rowio.MaxDim+1 columns.
// Codes of missing values that differ only in case count as the first of them.
func NewSurvey(columns int, rules Rules) *Survey {
	if columns < 1 || columns > rowio.MaxDim+1 {
		panic("schema: survey of no or too many columns")
	}
	s := &Survey{
		rules:   Rules{slices.Clone(rules.Missing), rules.Decimal, rules.Thousands},
		columns: make([]columnCounts, columns),
		limit:   maxColumnWeight,
	}
	s.missing = newMissing(s.rules.Missing)
	for i := range s.columns {
		s.columns[i].codes = make([]int64, len(rules.Missing))
	}
	return s
}

// maxCells returns the largest number of intervals of a column.
func (s *Survey) maxCells() int { return min(max(maxCells/len(s.columns), 16), 1024) }

// Null counts a missing value.
func (s *Survey) Null(_ []float32, column int) (reason string) {
	c := &s.columns[column]
	c.fields++
	c.null++
	return ""
}

// Float counts a number by the text of AppendFloat.
func (s *Survey) Float(row []float32, column int, v float64) (reason string) {
	if math.IsNaN(v) {
		return s.Null(row, column)
	}
	if code := s.missing.value(v); code >= 0 {
		c := &s.columns[column]
		c.fields++
		c.codes[code]++
		return ""
	}
	s.float = AppendFloat(s.float[:0], v)
	return s.Text(row, column, s.float)
}

// Text counts a text; a whole number counts without its fraction.
func (s *Survey) Text(_ []float32, column int, text []byte) (reason string) {
	c := &s.columns[column]
	c.fields++
	if len(text) == 0 {
		c.empty++
		return ""
	}
	text = lines.CutFraction(text, s.rules.Decimal)
	code := s.missing.find(text)
	if code < 0 && len(s.missing.values) > 0 {
		if has, v := s.traitsOf(text); has&isNumber != 0 {
			code = s.missing.value(v)
		}
	}
	if code >= 0 {
		c.codes[code]++
		return ""
	}
	hash := xxhash.Sum64(text)
	stored := text[:min(len(text), maxLevelText)]
	size := uint32(min(len(text), math.MaxUint32))
	if !c.keeps(hash) {
		s.spill(c, stored, size, 1)
	} else if c.levels.add(hash, stored, size, 1) {
		s.levelAdded(c)
	}
	return ""
}

// keeps reports whether texts with the given hash are levels.
func (c *columnCounts) keeps(hash uint64) bool { return hash>>(64-c.zeros) == 0 }

// spill adds a text to the tally of a column.
func (s *Survey) spill(c *columnCounts, stored []byte, size uint32, n int64) {
	var has traits
	var value float64
	if int(size) == len(stored) {
		has, value = s.traitsOf(stored)
	}
	c.rest.add(has, value, stored, size, n)
	if has&isNumber != 0 {
		c.cells.add(value, n, s.maxCells())
	}
}

// levelAdded enforces the bounds after a level was added to a column.
func (s *Survey) levelAdded(c *columnCounts) {
	e := &c.levels.entries[len(c.levels.entries)-1]
	s.total -= s.share(c)
	c.weight += e.weight()
	s.total += s.share(c)
	if c.weight > s.limit {
		s.tighten(c)
	}
	s.bound()
}

// share returns the weight of all texts of a column, at most limit.
func (s *Survey) share(c *columnCounts) int64 {
	if c.zeros > 0 {
		return s.limit // the spilled texts exceeded it
	}
	return min(c.weight, s.limit)
}

// bound lowers the limit of columns until all of them together are within maxWeight. The limit is
// a function of only the fields, because the weight of a column's texts is known up to the limit.
func (s *Survey) bound() {
	for s.total > maxWeight && s.limit > 1 {
		s.limit /= 2
		s.total = 0
		for i := range s.columns {
			s.tighten(&s.columns[i])
			s.total += s.share(&s.columns[i])
		}
	}
}

// tighten spills levels of a column until the others are within the limit.
func (s *Survey) tighten(c *columnCounts) {
	for c.weight > s.limit && c.zeros < 64 {
		s.widen(c, c.zeros+1)
	}
}

// widen keeps the levels whose hash has at least zeros leading zero bits, and spills the others.
func (s *Survey) widen(c *columnCounts, zeros uint) {
	if zeros <= c.zeros {
		return
	}
	c.zeros = zeros
	c.weight = 0
	c.levels.filter(func(e *storedLevel) bool {
		if !c.keeps(e.hash) {
			s.spill(c, c.levels.stored(e), e.size, e.n)
			return false
		}
		c.weight += e.weight()
		return true
	})
}

// Bytes estimates the bytes of a survey of a similar table with times as many fields.
func (s *Survey) Bytes(times float64) int64 {
	var weight, used float64
	for i := range s.columns {
		c := &s.columns[i]
		weight += float64(c.weight)
		used += float64(len(c.cells.n))
	}
	return int64(50*min(weight*times, maxWeight) + 48*min(used*times, maxCells)) // tables are a quarter to half full
}

// Merge adds the fields that t has counted. It does not change t. It panics unless both have the same
// number of columns and the same rules.
func (s *Survey) Merge(t *Survey) {
	if len(s.columns) != len(t.columns) || !slices.Equal(s.rules.Missing, t.rules.Missing) ||
		s.rules.Decimal != t.rules.Decimal || s.rules.Thousands != t.rules.Thousands {
		panic("schema: merge of surveys of different tables")
	}
	s.limit = min(s.limit, t.limit)
	s.total = 0
	for i := range s.columns {
		c, d := &s.columns[i], &t.columns[i]
		c.fields += d.fields
		c.null += d.null
		c.empty += d.empty
		for j, n := range d.codes {
			c.codes[j] += n
		}
		c.rest.merge(&d.rest)
		c.cells.merge(&d.cells, s.maxCells())
		s.widen(c, d.zeros)
		for j := range d.levels.entries {
			e := &d.levels.entries[j]
			stored := d.levels.stored(e)
			if !c.keeps(e.hash) {
				s.spill(c, stored, e.size, e.n)
			} else if c.levels.add(e.hash, stored, e.size, e.n) {
				c.weight += e.weight()
			}
		}
		s.tighten(c)
		s.total += s.share(c)
	}
	s.bound()
}

package schema

import (
	"bytes"
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/lines"
)

// traits is a set of bits for what a text can be read as. The bits from firstLayout on stand for
// TimeLayouts, and further bits for forms and lines.Units.
type traits uint64

const (
	isNumber  traits = 1 << iota // a decimal number, under the rules of the survey, perhaps with a unit
	isWhole                      // a number without a fraction
	hasZeros                     // a number with leading zeros, such as 007
	isBoolean                    // parseBool accepts it
	isAbsent                     // meansMissing is true for it
	isLarge                      // a number beyond float32
	isZoned                      // a time with a zone

	firstForm   = 7
	formCount   = 6
	firstUnit   = firstForm + formCount
	unitCount   = len(lines.Units)
	firstLayout = firstUnit + unitCount
	layoutCount = len(TimeLayouts)
	traitCount  = firstLayout + layoutCount
)

// forms are other ways to write numbers: the separators of decimals and thousands.
var forms = [formCount]struct{ decimal, thousands byte }{
	{',', 0}, {'.', ','}, {',', '.'}, {'.', ' '}, {',', ' '}, {'.', '\''},
}

// maxExample is the length to which an example is cut.
const maxExample = 64

// tally summarises texts without storing them.
type tally struct {
	n           int64 // texts
	counts      [traitCount]int64
	min, max    float64 // of the numbers
	short, long uint32  // bytes of the shortest and the longest text
	odd         string  // bytewise smallest text that is not a number, cut to maxExample
}

// add adds a text n times. stored is its first bytes.
func (t *tally) add(has traits, value float64, stored []byte, size uint32, n int64) {
	if has&isNumber == 0 {
		clipped := stored[:min(len(stored), maxExample)]
		if t.count(isNumber) == t.n || string(clipped) < t.odd {
			t.odd = string(clipped)
		}
	} else {
		if t.count(isNumber) == 0 {
			t.min, t.max = value, value
		}
		t.min, t.max = min(t.min, value), max(t.max, value)
	}
	if t.n == 0 {
		t.short, t.long = size, size
	}
	t.short, t.long = min(t.short, size), max(t.long, size)
	t.n += n
	for ; has != 0; has &= has - 1 {
		t.counts[bits.TrailingZeros64(uint64(has))] += n
	}
}

// merge adds the texts of u.
func (t *tally) merge(u *tally) {
	if u.n == 0 {
		return
	}
	if t.n == 0 {
		*t = *u
		return
	}
	if u.count(isNumber) < u.n && (t.count(isNumber) == t.n || u.odd < t.odd) {
		t.odd = u.odd
	}
	if u.count(isNumber) > 0 {
		if t.count(isNumber) == 0 {
			t.min, t.max = u.min, u.max
		}
		t.min, t.max = min(t.min, u.min), max(t.max, u.max)
	}
	t.short, t.long = min(t.short, u.short), max(t.long, u.long)
	t.n += u.n
	for i, n := range u.counts {
		t.counts[i] += n
	}
}

// count returns the number of texts that have a trait.
func (t *tally) count(has traits) int64 { return t.counts[bits.TrailingZeros64(uint64(has))] }

// traitsOf returns the traits of a text that is not missing, and its value if it is a number.
func (s *Survey) traitsOf(text []byte) (has traits, value float64) {
	amount, unit := lines.CutUnit(&s.unit, text)
	if c := text[0]; unit >= 0 || c-'0' < 10 || c == '-' || c == '+' || c == '.' || c == s.rules.Decimal {
		has, value = s.numberOf(amount)
		if has&isNumber != 0 && unit >= 0 {
			has |= 1 << (firstUnit + unit)
		}
	}
	if c := text[0]; c-'0' < 10 || (c|0x20)-'a' < 26 {
		for i := range TimeLayouts {
			if l := &TimeLayouts[i]; has&isNumber != 0 && l.Name != DigitsLayout {
				continue
			} else if _, ok := l.Parse(text); ok {
				has |= 1 << (firstLayout + i)
				if l.zoned(text) {
					has |= isZoned
				}
			}
		}
	}
	if _, ok := parseBool(text); ok {
		has |= isBoolean
	}
	if has == 0 && meansMissing(text) {
		has = isAbsent
	}
	return has, value
}

// numberOf returns the traits and the value of a text without a unit. If it is not a number under
// the rules, the traits are the forms in which it is one.
func (s *Survey) numberOf(text []byte) (has traits, value float64) {
	if plain, ok := lines.PlainNumber(&s.scratch, text, s.rules.Decimal, s.rules.Thousands); ok {
		has, value = numberOf(plain)
	}
	if has != 0 || len(text) > 40 {
		return has, value
	}
	for i, f := range forms {
		if plain, ok := lines.PlainNumber(&s.scratch, text, f.decimal, f.thousands); ok {
			if number, _ := numberOf(plain); number != 0 {
				has |= 1 << (firstForm + i)
			}
		}
	}
	return has, 0
}

// numberOf returns the traits of a number in plain form, and its value, at most the largest float64; 0 if the
// text has not a number.
func numberOf(text []byte) (has traits, value float64) {
	digits := text
	if digits[0] == '-' || digits[0] == '+' {
		digits = digits[1:]
	}
	has = isNumber
	if len(digits) > 1 && digits[0] == '0' && digits[1]-'0' < 10 {
		has |= hasZeros
	}
	value, ok := lines.ShortNumber(digits)
	switch {
	case ok && text[0] == '-':
		value = 0 - value // no negative zero
	case !ok:
		v, ok := lines.ParseNumber(text)
		if !ok {
			return 0, 0
		}
		value = min(max(lines.ParseFloat64(text), -math.MaxFloat64), math.MaxFloat64) + 0
		if !exact.Finite(v) {
			has |= isLarge
		}
	}
	if value == math.Trunc(value) {
		has |= isWhole
	}
	return has, value
}

// levelTable counts texts: a hash table whose keys share one slice of bytes, so a known text costs no allocation.
type levelTable struct {
	index   []int32 // 1 + the index in entries, 0 where free; a power of two of them
	entries []storedLevel
	text    []byte
}

// storedLevel is a text and its count. Only the first maxLevelText bytes of a long text are stored;
// long texts with equal beginnings are distinguished by length and hash.
type storedLevel struct {
	hash uint64
	n    int64
	off  uint32 // of the stored bytes in levelTable.text
	size uint32 // bytes of the text
}

// stored returns the stored bytes of a level.
func (l *levelTable) stored(e *storedLevel) []byte {
	return l.text[e.off : e.off+min(e.size, maxLevelText)]
}

// add counts a text n times and reports whether it is new. stored is its first bytes.
func (l *levelTable) add(hash uint64, stored []byte, size uint32, n int64) (fresh bool) {
	if 2*len(l.entries) >= len(l.index) {
		l.rehash(max(16, 2*len(l.index)))
	}
	mask := uint64(len(l.index) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		i := l.index[at]
		if i == 0 {
			l.entries = append(l.entries, storedLevel{hash, n, uint32(len(l.text)), size})
			l.text = append(l.text, stored...)
			l.index[at] = int32(len(l.entries))
			return true
		}
		e := &l.entries[i-1]
		if e.hash == hash && e.size == size && bytes.Equal(l.stored(e), stored) {
			e.n += n
			return false
		}
	}
}

// rehash makes an index of size places.
func (l *levelTable) rehash(size int) {
	l.index = make([]int32, size)
	mask := uint64(size - 1)
	for i := range l.entries {
		at := l.entries[i].hash & mask
		for l.index[at] != 0 {
			at = (at + 1) & mask
		}
		l.index[at] = int32(i + 1)
	}
}

// filter keeps the levels for which keep is true.
func (l *levelTable) filter(keep func(e *storedLevel) bool) {
	var kept levelTable
	for i := range l.entries {
		if e := &l.entries[i]; keep(e) {
			kept.add(e.hash, l.stored(e), e.size, e.n)
		}
	}
	*l = kept
}

// sorted returns the levels in ascending order of their texts.
func (l *levelTable) sorted() []storedLevel {
	s := slices.Clone(l.entries)
	slices.SortFunc(s, func(a, b storedLevel) int { return l.compare(&a, &b) })
	return s
}

func (l *levelTable) compare(a, b *storedLevel) int {
	return cmp.Or(bytes.Compare(l.stored(a), l.stored(b)), cmp.Compare(a.size, b.size), cmp.Compare(a.hash, b.hash))
}

// weight returns the memory that a level takes in a survey, in units of about 50 bytes.
func (e *storedLevel) weight() int64 { return 1 + int64(min(e.size, maxLevelText))/32 }

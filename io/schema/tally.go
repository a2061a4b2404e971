package schema

import (
	"math"
	"math/bits"

	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rows"
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
func (t *tally) add(is traits, value float64, stored []byte, size uint32, n int64) {
	if is&isNumber == 0 {
		clipped := stored[:min(len(stored), maxExample)]
		if t.counts[0] == t.n || string(clipped) < t.odd {
			t.odd = string(clipped)
		}
	} else {
		if t.counts[0] == 0 {
			t.min, t.max = value, value
		}
		t.min, t.max = min(t.min, value), max(t.max, value)
	}
	if t.n == 0 {
		t.short, t.long = size, size
	}
	t.short, t.long = min(t.short, size), max(t.long, size)
	t.n += n
	for ; is != 0; is &= is - 1 {
		t.counts[bits.TrailingZeros64(uint64(is))] += n
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
	if u.counts[0] < u.n && (t.counts[0] == t.n || u.odd < t.odd) {
		t.odd = u.odd
	}
	if u.counts[0] > 0 {
		if t.counts[0] == 0 {
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
func (t *tally) count(is traits) int64 { return t.counts[bits.TrailingZeros64(uint64(is))] }

// traitsOf returns the traits of a text that is not missing, and its value if it is a number.
func (s *Survey) traitsOf(text []byte) (is traits, value float64) {
	amount, unit := lines.CutUnit(&s.unit, text)
	if unit >= 0 || mayBeNumber(text[0]) || text[0] == s.rules.Decimal {
		is, value = s.numberOf(amount)
		if is&isNumber != 0 && unit >= 0 {
			is |= 1 << (firstUnit + unit)
		}
	}
	if c := text[0]; c-'0' < 10 || (c|0x20)-'a' < 26 {
		for i := range TimeLayouts {
			if l := &TimeLayouts[i]; is&isNumber != 0 && l.Name != DigitsLayout {
				continue
			} else if _, ok := l.Parse(text); ok {
				is |= 1 << (firstLayout + i)
				if l.zoned(text) {
					is |= isZoned
				}
			}
		}
	}
	if _, ok := parseBool(text); ok {
		is |= isBoolean
	}
	if is == 0 && meansMissing(text) {
		is = isAbsent
	}
	return is, value
}

// mayBeNumber reports whether a number can begin with a byte.
func mayBeNumber(c byte) bool { return c-'0' < 10 || c == '-' || c == '+' || c == '.' }

// numberOf returns the traits and the value of a text without a unit. If it is not a number under
// the rules, the traits are the forms in which it is one.
func (s *Survey) numberOf(text []byte) (is traits, value float64) {
	if plain, ok := lines.PlainNumber(&s.scratch, text, s.rules.Decimal, s.rules.Thousands); ok {
		is, value = numberOf(plain)
	}
	if is != 0 || len(text) > 40 {
		return is, value
	}
	for i, f := range forms {
		if plain, ok := lines.PlainNumber(&s.scratch, text, f.decimal, f.thousands); ok {
			if number, _ := numberOf(plain); number != 0 {
				is |= 1 << (firstForm + i)
			}
		}
	}
	return is, 0
}

// numberOf returns the traits of a number in plain form, and its value, at most the largest float64; 0 if the
// text is not a number.
func numberOf(text []byte) (is traits, value float64) {
	digits := text
	if digits[0] == '-' || digits[0] == '+' {
		digits = digits[1:]
	}
	is = isNumber
	if len(digits) > 1 && digits[0] == '0' && digits[1]-'0' < 10 {
		is |= hasZeros
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
		if !rows.Finite(v) {
			is |= isLarge
		}
	}
	if value == math.Trunc(value) {
		is |= isWhole
	}
	return is, value
}

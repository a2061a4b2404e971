package schema

import (
	"math"
	"math/bits"

	"github.com/bochner-ml/bochner/io/lines/decimal"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/schema/times"
)

// traits are what a text can be read as, one bit each. The bits after firstLayout are those of
// layouts, the bits after firstForm those of forms.
type traits uint32

const (
	isNumber  traits = 1 << iota // a finite decimal number, under the rules of the survey
	isWhole                      // a number without a fraction
	hasZeros                     // a number with leading zeros, such as 007
	isBoolean                    // what parseBool takes

	firstForm   = 4
	formCount   = 6
	firstLayout = firstForm + formCount
	layoutCount = len(times.Layouts)
	traitCount  = firstLayout + layoutCount
)

// forms are other ways to write numbers: the decimal separator, and that of thousands.
var forms = [formCount]struct{ decimal, thousands byte }{
	{',', 0}, {'.', ','}, {',', '.'}, {'.', ' '}, {',', ' '}, {'.', '\''},
}

// maxExample is the length to which an example is cut.
const maxExample = 64

// tally sums up texts without telling them apart.
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
		t.counts[bits.TrailingZeros32(uint32(is))] += n
	}
}

// merge adds what u has.
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

// of returns how many of the texts have a trait.
func (t *tally) of(is traits) int64 { return t.counts[bits.TrailingZeros32(uint32(is))] }

// traitsOf returns what a text that is not missing can be read as, and its value if it is a
// number.
func (s *Survey) traitsOf(text []byte) (is traits, value float64) {
	first := text[0]
	if first >= '0' && first <= '9' || first == '-' || first == '+' || first == '.' || first == s.rules.Decimal {
		if plain, ok := point(&s.scratch, text, s.rules.Decimal, s.rules.Thousands); ok {
			is, value = numberOf(plain)
		}
		if is == 0 && len(text) <= 40 {
			for i, f := range forms {
				if plain, ok := point(&s.scratch, text, f.decimal, f.thousands); ok {
					if number, _ := numberOf(plain); number != 0 {
						is |= 1 << (firstForm + i)
					}
				}
			}
			for i := range times.Layouts {
				if _, ok := times.Layouts[i].Parse(text); ok {
					is |= 1 << (firstLayout + i)
				}
			}
		}
	}
	if _, ok := parseBool(text); ok {
		is |= isBoolean
	}
	return is, value
}

// numberOf returns the traits of a number in plain form, and its value; 0 if the text is not
// a finite number.
func numberOf(text []byte) (is traits, value float64) {
	digits := text
	if digits[0] == '-' || digits[0] == '+' {
		digits = digits[1:]
	}
	is = isNumber
	if len(digits) > 1 && digits[0] == '0' && digits[1]-'0' < 10 {
		is |= hasZeros
	}
	value, ok := short(digits)
	switch {
	case ok && text[0] == '-':
		value = 0 - value // no negative zero
	case !ok:
		if v, ok := decimal.Parse(text); !ok || !rows.Finite(v) {
			return 0, 0
		}
		value = decimal.Float64(text) + 0
	}
	if value == math.Trunc(value) {
		is |= isWhole
	}
	return is, value
}

// powers are the powers of ten up to 10¹⁵.
var powers = func() (p [16]float64) {
	p[0] = 1
	for i := range p[1:] {
		p[i+1] = 10 * p[i]
	}
	return p
}()

// short returns the number of up to 15 digits with at most one point. Digits and power of ten
// are exact in float64, so that their quotient is rounded once (Clinger 1990).
func short(text []byte) (value float64, ok bool) {
	if len(text) > 16 {
		return 0, false
	}
	var digits int64
	point := -1
	for i, c := range text {
		switch {
		case c-'0' < 10:
			digits = 10*digits + int64(c-'0')
		case c == '.' && point < 0:
			point = i
		default:
			return 0, false
		}
	}
	n := len(text)
	if point >= 0 {
		n--
	}
	if n == 0 || n > 15 {
		return 0, false
	}
	if point < 0 {
		return float64(digits), true
	}
	return float64(digits) / powers[len(text)-1-point], true
}

package lines

import (
	"bytes"
	"cmp"
	"math"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// NumberPrefix reads the longest decimal number that b begins with:
//
//	[+-] digits [. digits] [e [+-] digits]     at least one digit before the e
//
// and returns the float32 nearest to it and its length in bytes, 0 if b does not
// begin with a number. A number too large for float32 is ±Inf, one too small is
// rounded to a subnormal or to zero, as strconv.ParseFloat does. There are no
// hexadecimal numbers, underscores, Inf or NaN.
func NumberPrefix(b []byte) (v float32, n int) {
	i := 0
	negative := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		negative = b[0] == '-'
		i++
	}
	mantissa := uint64(0)
	start := i
	for i < len(b) && b[i]-'0' < 10 {
		mantissa = mantissa*10 + uint64(b[i]-'0')
		i++
	}
	digits := i - start
	exp := 0
	if i < len(b) && b[i] == '.' {
		i++
		point := i
		for i < len(b) && b[i]-'0' < 10 {
			mantissa = mantissa*10 + uint64(b[i]-'0')
			i++
		}
		exp = point - i
		digits += i - point
	}
	if digits == 0 {
		return 0, 0
	}
	if digits > 19 { // mantissa may have overflowed
		mantissa, exp = truncated(b[start:i])
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		e, n := exponent(b[i+1:])
		if n > 0 {
			exp += e
			i += 1 + n
		}
	}
	if mantissa == 0 {
		if negative {
			return float32(math.Copysign(0, -1)), i
		}
		return 0, i
	}

	// The value is mantissa·10^exp. Rounding the mantissa, the power and the product
	// each costs a relative error of up to 2⁻⁵³, which is at most one unit in d's last
	// place, and digits cut off cost 10⁻¹⁸: d is off by less than 4 units. Where no
	// midpoint of two float32 is that close, d and the value are on the same side of
	// all midpoints and round to the same float32. Of the 29 bits that float32 lacks, a
	// midpoint has only the highest one set.
	if exp >= minPower && exp <= maxPower {
		d := float64(mantissa) * powers[exp-minPower]
		tail := math.Float64bits(d) & (1<<29 - 1)
		if d >= minNormal && d < math.MaxFloat32 && tail-(1<<28-4) > 8 {
			if negative {
				d = -d
			}
			return float32(d), i
		}
	}
	// The only errors left are out of range, for which the value is ±Inf.
	f, _ := strconv.ParseFloat(unsafe.String(&b[0], i), 32)
	return float32(f), i
}

// minNormal is the smallest float32 of full precision.
const minNormal = 0x1p-126

// truncated returns the first 19 significant digits of b, which are digits with at most
// one point, and the power of ten to multiply them by.
func truncated(b []byte) (mantissa uint64, exp int) {
	const limit = 1e18 // 19 digits once passed
	fraction := false
	for _, c := range b {
		switch {
		case c == '.':
			fraction = true
			continue
		case mantissa < limit:
			mantissa = mantissa*10 + uint64(c-'0')
		default:
			exp++
		}
		if fraction {
			exp--
		}
	}
	return mantissa, exp
}

// exponent reads [+-] digits and returns n = 0 if there are none. An out-of-range
// exponent is clipped to at least ±100,000,000.
func exponent(b []byte) (e, n int) {
	i := 0
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		i++
	}
	start := i
	for i < len(b) && b[i]-'0' < 10 {
		if e < 1e8 {
			e = e*10 + int(b[i]-'0')
		}
		i++
	}
	if i == start {
		return 0, 0
	}
	if b[0] == '-' {
		e = -e
	}
	return e, i
}

// powers of ten that scale 19 digits to any part of float32's normal range.
const (
	minPower = -56
	maxPower = 38
)

var powers = func() (p [maxPower - minPower + 1]float64) {
	for i := range p {
		p[i], _ = strconv.ParseFloat("1e"+strconv.Itoa(i+minPower), 64)
	}
	return p
}()

// ParseNumber parses all of b as a number; ok is false if it is not one.
func ParseNumber(b []byte) (v float32, ok bool) {
	v, n := NumberPrefix(b)
	return v, n > 0 && n == len(b)
}

// CutFraction returns a whole number such as "1.0" without its fraction, and other texts unchanged.
// point begins the fraction; 0 means '.'.
func CutFraction(text []byte, point byte) []byte {
	n := len(text)
	for n > 1 && text[n-1] == '0' {
		n--
	}
	n--
	if n < 1 || n == len(text)-1 || text[n] != cmp.Or(point, '.') {
		return text
	}
	digits := text[:n]
	if digits[0] == '-' || digits[0] == '+' {
		digits = digits[1:]
	}
	if len(digits) == 0 || bytes.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) {
		return text
	}
	return text[:n]
}

// ParseFloat64 returns the float64 nearest to the number b, which ParseNumber must accept.
func ParseFloat64(b []byte) float64 {
	v, _ := strconv.ParseFloat(unsafe.String(&b[0], len(b)), 64)
	return v
}

// NumberMinus returns b − c for a number b that ParseNumber accepts. b is rounded to float64, and
// the difference to float32.
func NumberMinus(b []byte, c float64) float32 { return float32(ParseFloat64(b) - c) }

// ShortNumber returns the number of up to 15 digits with at most one point. Digits and power of ten
// are exact in float64, so that their quotient is rounded once (Clinger 1990).
func ShortNumber(text []byte) (value float64, ok bool) {
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
	return float64(digits) / powers[len(text)-1-point-minPower], true
}

// Units are the signs that may precede or follow a number.
var Units = [...]string{"$", "€", "£", "¥", "%"}

// CutUnit returns a number without its unit, in scratch memory, and the index of the unit in Units,
// −1 if there is none.
func CutUnit(scratch *[]byte, text []byte) (number []byte, unit int) {
	if len(text) == 0 {
		return text, -1
	}
	first, last := text[0], text[len(text)-1]
	if first-'0' < 10 && last-'0' < 10 {
		return text, -1
	}
	for i, u := range Units {
		if rest, ok := bytes.CutSuffix(text, []byte(u)); ok {
			number = bytes.TrimSpace(rest)
		} else if rest, ok := bytes.CutPrefix(bytes.TrimPrefix(text, []byte("-")), []byte(u)); ok && u != "%" {
			number = bytes.TrimSpace(rest)
			if first == '-' {
				*scratch = append(append((*scratch)[:0], '-'), number...)
				number = *scratch
			}
		}
		if len(number) > 0 {
			return number, i
		}
	}
	return text, -1
}

// PlainNumber rewrites a number with a decimal point and without separators of thousands, in scratch memory.
// Separated groups must have three digits, except that the first has one to three and does not begin with 0.
func PlainNumber(scratch *[]byte, text []byte, decimal, thousands byte) (plain []byte, ok bool) {
	if (decimal == 0 || decimal == '.') && thousands == 0 {
		return text, true
	}
	if decimal == 0 {
		decimal = '.'
	}
	b := (*scratch)[:0]
	defer func() { *scratch = b }()
	groups, digits := 0, 0 // separators of thousands, and digits since the last one
	whole := func() bool { return len(b) > 0 && (groups == 0 || digits == 3) }
	for len(text) > 0 {
		c, n := separator(text)
		text = text[n:]
		switch {
		case c == decimal:
			ok := groups == 0 || whole()
			b = append(append(b, '.'), text...)
			return b, ok && bytes.IndexByte(text, '.') < 0
		case thousands != 0 && c == thousands:
			first := groups == 0 && digits > 0 && digits <= 3 && len(b)-digits <= 1 && b[len(b)-digits] != '0'
			if !first && (groups == 0 || !whole()) {
				return nil, false
			}
			groups++
			digits = 0
			continue
		case c-'0' < 10:
			digits++
		case c == '.' || groups > 0:
			return nil, false
		default:
			digits = 0
		}
		b = append(b, c)
	}
	return b, whole()
}

// separator returns the first character of a text and its length. Word processors separate thousands by
// no-break or thin spaces and typographic apostrophes, which it returns as a plain space and apostrophe.
func separator(text []byte) (c byte, n int) {
	if text[0] >= utf8.RuneSelf {
		switch r, n := utf8.DecodeRune(text); r {
		case '\u00a0', '\u202f', '\u2009':
			return ' ', n
		case '’':
			return '\'', n
		}
	}
	return text[0], 1
}

// NearestFloat32 returns the float32 nearest to the shortest decimal number that rounds to v, so that a
// number stored in binary has the same value as the same number in text.
func NearestFloat32(v float64) float32 {
	x := float32(v)
	// Only midpoints of two float32, which have one bit set of the 29 that float32
	// lacks, may be rounded the other way; and subnormal float32 have fewer bits.
	if math.Float64bits(v)&(1<<29-1) == 1<<28 || math.Abs(v) < 0x1p-126 && v != 0 {
		f, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', -1, 64), 32)
		return float32(f)
	}
	return x
}

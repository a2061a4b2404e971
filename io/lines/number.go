package lines

import (
	"bytes"
	"cmp"
	"math"
	"strconv"
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
	if n--; n < 1 || n == len(text)-1 || text[n] != cmp.Or(point, '.') {
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

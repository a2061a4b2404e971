package lines

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
)

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
			groups, digits = groups+1, 0
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

package decimal

import (
	"bytes"
	"math"
	"strconv"
)

// Units are the signs with which numbers can be written, before or after them.
var Units = [...]string{"$", "€", "£", "¥", "%"}

// CutUnit returns a number that may have a unit without it, in scratch memory, and which unit that is, −1 for none.
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
			if number = bytes.TrimSpace(rest); first == '-' {
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

// Plain rewrites a number with a decimal point and without thousands, in scratch memory.
// Groups of thousands must have three digits.
func Plain(scratch *[]byte, text []byte, decimal, thousands byte) (plain []byte, ok bool) {
	if (decimal == 0 || decimal == '.') && thousands == 0 {
		return text, true
	}
	if decimal == 0 {
		decimal = '.'
	}
	b := (*scratch)[:0]
	defer func() { *scratch = b }()
	group := -1 // digits since the last separator of thousands
	for i, c := range text {
		switch {
		case c == decimal:
			if group >= 0 && group != 3 {
				return nil, false
			}
			b = append(append(b, '.'), text[i+1:]...)
			return b, bytes.IndexByte(text[i+1:], '.') < 0
		case thousands != 0 && c == thousands:
			if group >= 0 && group != 3 || len(b) == 0 {
				return nil, false
			}
			group = 0
			continue
		case c == '.':
			return nil, false
		case group >= 0:
			group++
		}
		b = append(b, c)
	}
	return b, (group < 0 || group == 3) && len(b) > 0
}

// Nearest returns the float32 nearest to the shortest decimal number that v stands for, so
// that a number stored in binary is read as the same number in text.
func Nearest(v float64) float32 {
	x := float32(v)
	// Only midpoints of two float32, which have one bit set of the 29 that float32
	// lacks, may be rounded the other way; and subnormal float32 have fewer bits.
	if math.Float64bits(v)&(1<<29-1) == 1<<28 || math.Abs(v) < 0x1p-126 && v != 0 {
		f, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', -1, 64), 32)
		return float32(f)
	}
	return x
}

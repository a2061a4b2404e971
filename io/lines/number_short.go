package lines

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

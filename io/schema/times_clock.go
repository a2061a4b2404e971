package schema

// clock parses the parts of a time from left to right. After an error, bad is set.
type clock struct {
	rest []byte
	bad  bool
}

// skip skips a byte, if it is the next.
func (c *clock) skip(b byte) bool {
	if len(c.rest) == 0 || c.rest[0] != b {
		return false
	}
	c.rest = c.rest[1:]
	return true
}

// want skips a byte, which must be the next.
func (c *clock) want(b byte) { c.bad = !c.skip(b) || c.bad }

// year reads four digits, or two if the layout has them.
func (c *clock) year(short bool) int {
	had := len(c.rest)
	year := c.digits(2, 4)
	switch had - len(c.rest) {
	case 4:
	case 2:
		c.bad = c.bad || !short
		if year += 2000; year > 2068 {
			year -= 100
		}
	default:
		c.bad = true
	}
	return year
}

// monthNames has the months, in lower case. Three letters are enough.
var monthNames = [...]string{
	"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
	"december",
}

// month reads the name of a month in English, in any case.
func (c *clock) month() int {
	n := 0
	for n < len(c.rest) && (c.rest[n]|0x20)-'a' < 26 {
		n++
	}
	if n < 3 || n > len("september") {
		c.bad = true
		return 0
	}
	var lower [len("september")]byte
	for i, letter := range c.rest[:n] {
		lower[i] = letter | 0x20
	}
	c.rest = c.rest[n:]
	word := string(lower[:n])
	for i, name := range monthNames {
		if word == name || word == name[:3] || word == "sept" && name[:3] == "sep" {
			return i + 1
		}
	}
	c.bad = true
	return 0
}

// timeOfDay reads hours and minutes, perhaps seconds with a fraction, and perhaps AM or PM.
func (c *clock) timeOfDay() (at [4]int) {
	at[0] = c.digits(1, 2)
	c.want(':')
	at[1] = c.digits(2, 2)
	if c.skip(':') {
		at[2] = c.digits(2, 2)
		if c.skip('.') {
			at[3] = c.fraction()
		}
	}
	n := len(c.rest)
	if n < 2 || n > 3 || c.rest[n-1]|0x20 != 'm' {
		return at
	}
	if half := c.rest[n-2] | 0x20; half == 'a' || half == 'p' {
		c.bad = c.bad || n == 3 && c.rest[0] != ' ' || at[0] < 1 || at[0] > 12
		c.rest = nil
		at[0] %= 12
		if half == 'p' {
			at[0] += 12
		}
	}
	return at
}

// digits reads a number of least to most digits.
func (c *clock) digits(least, most int) (v int) {
	n := 0
	for n < most && n < len(c.rest) && c.rest[n]-'0' < 10 {
		v = 10*v + int(c.rest[n]-'0')
		n++
	}
	c.bad = c.bad || n < least
	c.rest = c.rest[n:]
	return v
}

// fraction reads the digits of a fraction of a second, and returns whole nanoseconds.
func (c *clock) fraction() int {
	had := len(c.rest)
	v := c.digits(1, 9)
	for n := had - len(c.rest); n < 9; n++ {
		v *= 10
	}
	c.digits(0, len(c.rest))
	return v
}

// zone reads Z or ±hh:mm, if there is more, within the limits of package time, and returns the
// seconds east of UTC.
func (c *clock) zone() int {
	sign := 1
	switch {
	case len(c.rest) == 0 || c.skip('Z'):
		return 0
	case c.skip('-'):
		sign = -1
	default:
		c.want('+')
	}
	hours := c.digits(2, 2)
	c.skip(':')
	minutes := c.digits(2, 2)
	c.bad = c.bad || hours > 24 || minutes > 60
	return sign * (3600*hours + 60*minutes)
}

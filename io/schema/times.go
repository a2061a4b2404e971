package schema

import (
	"bytes"
	"math"
	"slices"
	"time"
)

// TimeLayout is a way to write times: a date, optionally followed by a space and a time of day, or a
// time of day alone. A time of day has 24 hours, or ends in AM or PM.
type TimeLayout struct {
	Name  string
	order string // of year, month and day; b is the name of a month; "" is a time of day alone
	sep   byte   // between them; 0 if nothing is
	iso   bool   // months and days have two digits; a T may stand for the space; a zone may follow
	short bool   // a year may have two digits
}

// TimeLayouts are the known ways to write times. If a text fits several, the first is preferred.
var TimeLayouts = [...]TimeLayout{
	{Name: "iso", order: "ymd", sep: '-', iso: true},
	{Name: "d.m.y", order: "dmy", sep: '.', short: true},
	{Name: "m/d/y", order: "mdy", sep: '/', short: true},
	{Name: "d/m/y", order: "dmy", sep: '/', short: true},
	{Name: "y/m/d", order: "ymd", sep: '/', short: true},
	{Name: "d-m-y", order: "dmy", sep: '-', short: true},
	{Name: "m-d-y", order: "mdy", sep: '-', short: true},
	{Name: "y-m-d", order: "ymd", sep: '-', short: true},
	{Name: "d mon y", order: "dby", short: true},
	{Name: "mon d y", order: "bdy", short: true},
	{Name: DigitsLayout, order: "ymd"},
	{Name: ClockLayout},
}

// DigitsLayout is the layout of dates that are also whole numbers, such as 20240229, in the years 1900 to 2100.
const DigitsLayout = "yyyymmdd"

// ClockLayout is the layout of times of day without a date.
const ClockLayout = "h:m"

// TimeLayoutNames returns the names of the layouts of times.
func TimeLayoutNames() (names []string) {
	for _, l := range TimeLayouts {
		names = append(names, l.Name)
	}
	return names
}

// timeLayoutOf returns the layout called name, or nil.
func timeLayoutOf(name string) *TimeLayout {
	i := slices.IndexFunc(TimeLayouts[:], func(l TimeLayout) bool { return l.Name == name })
	if i < 0 {
		return nil
	}
	return &TimeLayouts[i]
}

// Parse returns the time of a text, and whether the text has the layout. A time of day alone is on
// 1970-01-01. Years of two digits are from 1969 to 2068.
func (l *TimeLayout) Parse(text []byte) (t time.Time, ok bool) {
	if len(text) < 4 || len(text) > 40 || (text[0]-'0' >= 10) != (l.order == "bdy") {
		return t, false
	}
	c := clock{rest: text}
	year, month, day := 1970, 1, 1
	for i := range len(l.order) {
		if i > 0 && !l.separated(&c) {
			return t, false
		}
		switch l.order[i] {
		case 'y':
			year = c.year(l.short)
		case 'b':
			month = c.month()
		case 'm':
			month = c.digits(l.least(), 2)
		case 'd':
			day = c.digits(l.least(), 2)
		}
	}
	if l.Name == DigitsLayout && (year < 1900 || year > 2100) {
		return t, false
	}
	var hour, minute, second, nano, east int
	if (len(c.rest) > 0 || l.order == "") && !c.bad {
		if l.order != "" && !c.skip(' ') && !(l.iso && c.skip('T')) {
			return t, false
		}
		hour, minute, second, nano = c.timeOfDay()
		if l.iso {
			east = c.zone()
		}
	}
	if c.bad || len(c.rest) > 0 || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59 {
		return t, false
	}
	t = time.Date(year, time.Month(month), day, hour, minute, second, nano, time.UTC)
	if t.Day() != day { // of the next month
		return t, false
	}
	return t.Add(-time.Duration(east) * time.Second), true
}

// TimeText returns a time, given in seconds since 1970, as a date, and with its time of day unless that is midnight.
func TimeText(seconds float64) string {
	t := time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC()
	if t.Equal(t.Truncate(24 * time.Hour)) {
		return t.Format(time.DateOnly)
	}
	return t.Format(time.DateTime)
}

// separated skips the separator before a part of a date: sep or, next to the name of a month, spaces,
// a hyphen, a point, a slash or a comma.
func (l *TimeLayout) separated(c *clock) bool {
	if l.order[0] != 'b' && l.order[1] != 'b' {
		return l.sep == 0 || c.skip(l.sep)
	}
	had := len(c.rest)
	if !c.skip('-') && !c.skip('/') {
		c.skip('.')
		c.skip(',')
		c.skip(' ')
	}
	return len(c.rest) < had
}

// likeTime reports whether a text looks like a date or a time in any layout: it has digits, and the
// name of a month or a year followed by a hyphen.
func likeTime(text []byte) bool {
	if !bytes.ContainsAny(text, "0123456789") {
		return false
	}
	letter := func(c byte) bool { return (c|0x20)-'a' < 26 }
	for i, c := range text {
		if letter(c) && (i == 0 || !letter(text[i-1])) {
			word := clock{rest: text[i:]}
			word.month()
			if !word.bad {
				return true
			}
		}
	}
	year := clock{rest: text}
	return year.digits(4, 4)-1000 < 2000 && year.skip('-') && !year.bad
}

// zoned reports whether a text in the layout has a zone.
func (l *TimeLayout) zoned(text []byte) bool {
	return l.iso && bytes.LastIndexAny(text, "Z+-") > len("2006-01-")
}

// least returns the smallest number of digits of a month or day.
func (l *TimeLayout) least() int {
	if l.iso || l.Name == DigitsLayout {
		return 2
	}
	return 1
}

// yearMonth is how the month of a time is written.
const yearMonth = "2006-01"

// MonthOf returns the month of a text, such as 2024-02, and whether the text has the layout.
func MonthOf(text []byte, layout string) (name string, ok bool) {
	l := timeLayoutOf(layout)
	if l == nil {
		return "", false
	}
	t, ok := l.Parse(text)
	return t.UTC().Format(yearMonth), ok
}

// Month returns the month, such as 2024-02, of the values of a Time.
func Month(parts []float32) string {
	t := time.Unix(0, 0).UTC().AddDate(0, 0, int(math.Floor(float64(parts[0]))))
	if float32(t.Month()) != parts[1] {
		t = t.AddDate(0, 0, -1) // the last seconds of a month may be rounded to the next
	}
	return t.Format(yearMonth)
}

// values stores the timeParts of a time that was read by the layout. A time of day alone has only an hour.
func (l *TimeLayout) values(dst []float32, t time.Time) {
	t = t.UTC()
	hours := float64(t.Hour()) + float64(t.Minute())/60 + (float64(t.Second())+float64(t.Nanosecond())*1e-9)/3600
	midnight := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	dst[0] = float32(math.Round(float64(midnight.Unix())/86400) + hours/24)
	dst[1] = float32(t.Month())
	dst[2] = float32((t.Weekday() + 6) % 7)
	dst[3] = float32(hours)
	if l.order == "" {
		dst[0] = 0
	}
}

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
		year += 2000
		if year > 2068 {
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
func (c *clock) timeOfDay() (hour, minute, second, nano int) {
	hour = c.digits(1, 2)
	c.want(':')
	minute = c.digits(2, 2)
	if c.skip(':') {
		second = c.digits(2, 2)
		if c.skip('.') {
			nano = c.fraction()
		}
	}
	n := len(c.rest)
	if n < 2 || n > 3 || c.rest[n-1]|0x20 != 'm' {
		return hour, minute, second, nano
	}
	if half := c.rest[n-2] | 0x20; half == 'a' || half == 'p' {
		c.bad = c.bad || n == 3 && c.rest[0] != ' ' || hour < 1 || hour > 12
		c.rest = nil
		hour %= 12
		if half == 'p' {
			hour += 12
		}
	}
	return hour, minute, second, nano
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

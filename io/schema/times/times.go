// Package times reads the times of tables, in the ways in which they are written.
package times

import (
	"math"
	"slices"
	"time"
)

// Layout is a way to write times: a date, which a time of day may follow after a space.
type Layout struct {
	Name  string
	order string // of year, month and day
	sep   byte   // between them
	iso   bool   // months and days have two digits; a T may stand for the space; a zone may follow
}

// Layouts are the known ways to write times. Those that a text may have at the same time are
// in order of preference.
var Layouts = [...]Layout{
	{Name: "iso", order: "ymd", sep: '-', iso: true},
	{Name: "y/m/d", order: "ymd", sep: '/'},
	{Name: "d.m.y", order: "dmy", sep: '.'},
	{Name: "m/d/y", order: "mdy", sep: '/'},
	{Name: "d/m/y", order: "dmy", sep: '/'},
}

// Names returns the names of the layouts of times.
func Names() (names []string) {
	for _, l := range Layouts {
		names = append(names, l.Name)
	}
	return names
}

// Of returns the layout with that name, or nil.
func Of(name string) *Layout {
	i := slices.IndexFunc(Layouts[:], func(l Layout) bool { return l.Name == name })
	if i < 0 {
		return nil
	}
	return &Layouts[i]
}

// Parse returns the time that a text means, and whether it has the layout.
func (l *Layout) Parse(text []byte) (t time.Time, ok bool) {
	if len(text) < 8 || len(text) > 40 || text[0]-'0' >= 10 {
		return t, false
	}
	c := clock{rest: text}
	var year, month, day int
	for i, part := range []byte(l.order) {
		if i > 0 && !c.skip(l.sep) {
			return t, false
		}
		switch part {
		case 'y':
			year = c.digits(4, 4)
		case 'm':
			month = c.digits(l.least(), 2)
		case 'd':
			day = c.digits(l.least(), 2)
		}
	}
	var hour, minute, second, nano, east int
	if len(c.rest) > 0 && !c.bad {
		if !c.skip(' ') && !(l.iso && c.skip('T')) {
			return t, false
		}
		hour = c.digits(1, 2)
		c.want(':')
		minute = c.digits(2, 2)
		if c.skip(':') {
			second = c.digits(2, 2)
			if c.skip('.') {
				nano = c.fraction()
			}
		}
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

// Text returns a time, given in seconds since 1970, as a date, and with its time of day unless that is midnight.
func Text(seconds float64) string {
	t := time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC()
	if t.Equal(t.Truncate(24 * time.Hour)) {
		return t.Format(time.DateOnly)
	}
	return t.Format(time.DateTime)
}

// least returns the least number of digits of months and days.
func (l *Layout) least() int {
	if l.iso {
		return 2
	}
	return 1
}

// clock reads the parts of a time.
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

// want skips a byte that must be the next.
func (c *clock) want(b byte) { c.bad = !c.skip(b) || c.bad }

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

// month is how the month of a time is written.
const month = "2006-01"

// MonthOf returns the month of a text of a layout, as 2024-02, and whether the text has the layout.
func MonthOf(text []byte, layout string) (name string, ok bool) {
	l := Of(layout)
	if l == nil {
		return "", false
	}
	t, ok := l.Parse(text)
	return t.UTC().Format(month), ok
}

// Month returns the month of the TimeParts of a time, as 2024-02.
func Month(parts []float32) string {
	t := time.Unix(0, 0).UTC().AddDate(0, 0, int(math.Floor(float64(parts[0]))))
	if float32(t.Month()) != parts[1] {
		t = t.AddDate(0, 0, -1) // the last seconds of a month may be rounded to the next
	}
	return t.Format(month)
}

// Values stores the TimeParts of a time.
func Values(dst []float32, t time.Time) {
	t = t.UTC()
	clock := float64(t.Hour()) + float64(t.Minute())/60 + (float64(t.Second())+float64(t.Nanosecond())*1e-9)/3600
	midnight := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	dst[0] = float32(math.Round(float64(midnight.Unix())/86400) + clock/24)
	dst[1] = float32(t.Month())
	dst[2] = float32((t.Weekday() + 6) % 7)
	dst[3] = float32(clock)
}

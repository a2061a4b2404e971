package schema

import (
	"math"
	"slices"
	"time"
)

// layout is a way to write times.
type layout struct {
	name  string
	parse []string // layouts of package time, tried in this order
}

// layouts are the known ways to write times. Those that a text may have at the same time are
// in order of preference.
var layouts = []layout{
	{"iso", []string{
		"2006-01-02", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", time.RFC3339Nano,
		"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04", "2006-01-02T15:04",
	}},
	{"y/m/d", []string{"2006/01/02", "2006/1/2", "2006/01/02 15:04:05.999999999", "2006/1/2 15:04"}},
	{"d.m.y", []string{"02.01.2006", "2.1.2006", "02.01.2006 15:04:05.999999999", "2.1.2006 15:04"}},
	{"m/d/y", []string{"01/02/2006", "1/2/2006", "01/02/2006 15:04:05.999999999", "1/2/2006 15:04"}},
	{"d/m/y", []string{"02/01/2006", "2/1/2006", "02/01/2006 15:04:05.999999999", "2/1/2006 15:04"}},
}

// LayoutNames returns the names of the layouts of times.
func LayoutNames() (names []string) {
	for _, l := range layouts {
		names = append(names, l.name)
	}
	return names
}

// layoutOf returns the layout with that name, or nil.
func layoutOf(name string) *layout {
	i := slices.IndexFunc(layouts, func(l layout) bool { return l.name == name })
	if i < 0 {
		return nil
	}
	return &layouts[i]
}

// parseTime reports whether the text is a time of the layout.
func (l *layout) parseTime(text string) (time.Time, bool) {
	if len(text) < 8 || len(text) > 40 || text[0] < '0' || text[0] > '9' {
		return time.Time{}, false
	}
	for _, p := range l.parse {
		if t, err := time.Parse(p, text); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// LayoutsOf returns the names of the layouts that a text has, in order of preference.
func LayoutsOf(text string) (names []string) {
	for i := range layouts {
		if _, ok := layouts[i].parseTime(text); ok {
			names = append(names, layouts[i].name)
		}
	}
	return names
}

// timeValues stores the TimeParts of a time.
func timeValues(dst []float32, t time.Time) {
	t = t.UTC()
	clock := float64(t.Hour()) + float64(t.Minute())/60 + (float64(t.Second())+float64(t.Nanosecond())*1e-9)/3600
	midnight := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	dst[0] = float32(math.Round(float64(midnight.Unix())/86400) + clock/24)
	dst[1] = float32(t.Month())
	dst[2] = float32((t.Weekday() + 6) % 7)
	dst[3] = float32(clock)
}

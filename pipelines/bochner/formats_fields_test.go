package main

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fieldOf is a column of a typed table.
type fieldOf struct {
	Name, Type, Layout, Unit string
	Levels                   []string
	Buckets                  int
}

// tableOf describes how fields become values.
type tableOf struct {
	Columns            []fieldOf
	Missing            []string
	Decimal, Thousands byte
}

var wholeNumber = regexp.MustCompile(`^([+-]?[0-9]+)\.0+$`)

// shortForm is a text without the fraction of a whole number.
func shortForm(text string) string {
	if parts := wholeNumber.FindStringSubmatch(text); parts != nil {
		return parts[1]
	}
	return text
}

// values returns what a field is in a row. Decimal and Thousands are not needed by the tests.
func (t *tableOf) values(c *fieldOf, field string) []float64 {
	text := strings.Trim(field, " \t")
	short := shortForm(text)
	ok := func(list ...string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(shortForm(s), short) })
	}
	switch missing := text == "" || ok(t.Missing...); {
	case c.Type == "time" && missing:
		return slices.Repeat([]float64{math.NaN()}, 4)
	case c.Type == "time":
		return timeValues(short, c.Layout)
	case missing:
		return []float64{math.NaN()}
	case c.Type == "boolean" && ok("true", "t", "yes", "y", "1"):
		return []float64{1}
	case c.Type == "boolean":
		return []float64{0}
	case c.Type == "category" && c.Buckets > 0:
		return []float64{float64(xxh64(0, []byte(short)) % uint64(c.Buckets))}
	case c.Type == "category":
		for _, form := range []string{text, short} {
			if i := slices.Index(c.Levels, form); i >= 0 {
				return []float64{float64(i)}
			}
		}
		return []float64{float64(len(c.Levels))}
	}
	number := text
	if c.Unit != "" {
		number = strings.TrimSpace(strings.Replace(text, c.Unit, "", 1))
		number = strings.Replace(number, "- ", "-", 1)
	}
	v, err := strconv.ParseFloat(number, 32)
	if err != nil {
		panic(err)
	}
	return []float64{v}
}

var (
	timeOfDay = `([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}(?:\.[0-9]+)?))?(?: ?([AaPp])[Mm])?`
	dates     = map[string]*regexp.Regexp{
		"iso": regexp.MustCompile(`^(?P<y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})(?:[ T]` + timeOfDay +
			`)?(Z|[+-][0-9]{2}:?[0-9]{2})?$`),
		"d.m.y": regexp.MustCompile(`^(?P<d>[0-9]+)\.(?P<m>[0-9]+)\.(?P<y>[0-9]+)(?: ` + timeOfDay + `)?()$`),
		"mon d y": regexp.MustCompile(`^(?P<b>[A-Za-z]+)[-/., ]+(?P<d>[0-9]+)[-/., ]+(?P<y>[0-9]+)(?: ` + timeOfDay +
			`)?()$`),
		"h:m": regexp.MustCompile(`^(?P<y>)(?P<m>)(?P<d>)` + timeOfDay + `()$`),
	}
)

// timeValues returns days, month, weekday and hour.
func timeValues(text, layout string) []float64 {
	date := dates[layout]
	parts := date.FindStringSubmatch(text)
	number := func(text string) int { v, _ := strconv.Atoi(text); return v }
	of := func(name string) string {
		if i := date.SubexpIndex(name); i > 0 {
			return parts[i]
		}
		return ""
	}
	year, month, day := number(of("y")), number(of("m")), number(of("d"))
	if len(of("y")) == 2 {
		if year += 1900; year < 1969 {
			year += 100
		}
	}
	if name := strings.ToLower(of("b")); name != "" {
		month = strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", name[:3])/3 + 1
	}
	if layout == "h:m" {
		year, month, day = 1970, 1, 1
	}
	hour, minute := number(parts[4]), number(parts[5])
	seconds, _ := strconv.ParseFloat(parts[6], 64)
	if half := strings.ToLower(parts[7]); half != "" {
		hour %= 12
		if half == "p" {
			hour += 12
		}
	}
	at := time.Date(year, time.Month(month), day, hour, minute, 0, 0, time.UTC)
	if zone := parts[8]; len(zone) > 1 {
		east := time.Duration(number(zone[1:3]))*time.Hour + time.Duration(number(zone[len(zone)-2:]))*time.Minute
		if zone[0] == '+' {
			east = -east
		}
		at = at.Add(east)
	}
	h := float64(at.Hour()) + float64(at.Minute())/60 + seconds/3600
	days := math.Floor(float64(at.Unix())/86400) + h/24
	if layout == "h:m" {
		days = 0
	}
	return []float64{float64(float32(days)), float64(at.Month()), float64((at.Weekday() + 6) % 7), float64(float32(h))}
}

// slotOf is how a value of a row of a typed table becomes numbers.
type slotOf struct {
	Number *struct{ Fill, Missing float32 }
	OneHot *struct {
		Values  int
		Weight  float32
		Missing bool
	}
	Table *struct {
		Values, Out int
		Numbers     []byte
	}
}

// slots returns the numbers of a row of a typed table.
func slots(list []slotOf, x []float64) []float64 {
	var numbers, levels []float64
	for j, s := range list {
		v, missing := x[j], math.IsNaN(x[j])
		switch {
		case s.Number != nil:
			flag := 0.0
			if missing {
				v, flag = float64(s.Number.Fill), float64(s.Number.Missing)
			}
			numbers = append(numbers, v)
			if s.Number.Missing != 0 {
				numbers = append(numbers, flag)
			}
		case s.OneHot != nil:
			hot := make([]float64, s.OneHot.Values)
			if s.OneHot.Missing {
				hot = append(hot, 0)
			}
			switch {
			case missing && s.OneHot.Missing:
				hot[s.OneHot.Values] = float64(s.OneHot.Weight)
			case !missing && int(v) < s.OneHot.Values:
				hot[int(v)] = float64(s.OneHot.Weight)
			}
			levels = append(levels, hot...)
		default:
			row := s.Table.Values
			if !missing && int(v) < row {
				row = int(v)
			}
			numbers = append(numbers, floats32(s.Table.Numbers)[row*s.Table.Out:][:s.Table.Out]...)
		}
	}
	return append(numbers, levels...)
}

package schema

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rowio"
)

// Type is how the fields of a column become numbers.
type Type string

const (
	// Number is a decimal number; its value is that number.
	Number Type = "number"
	// Boolean is true or false (also yes/no, t/f, y/n, in any case); its values are 1 and 0.
	Boolean Type = "boolean"
	// Category is a text; its value is the index of its level, or len(Levels) for any
	// text that is not a level. With Buckets it is the number of a hash bucket.
	Category Type = "category"
	// Time is a date, or a date with a time of day; its values are days, month, weekday and hour.
	Time Type = "time"
)

// types are all types.
var types = []Type{Number, Boolean, Category, Time}

// timeParts are the values of a Time, in the order of the row. Days count from 1970-01-01 00:00 UTC and have
// fractions; months count from 1, weekdays from 0 for Monday; the hour has fractions. A time without a zone is in UTC.
var timeParts = []string{"days", "month", "weekday", "hour"}

// Column describes a column whose values are part of a row.
type Column struct {
	Name string `json:"name"`
	Type Type   `json:"type"`
	// Levels are the known texts of a category, ascending and distinct. All other texts have the value len(Levels).
	Levels []string `json:"levels,omitempty"`
	// Buckets, unless 0, says that a category has too many levels to list: its value is XXH64 of its text, modulo Buckets.
	Buckets int `json:"buckets,omitempty"`
	// Layout is the name of the layout of a Time; see TimeLayouts.
	Layout string `json:"layout,omitempty"`
	// Zone says which times of the data have zones: all, some or none; "" if unknown.
	Zone string `json:"zone,omitempty"`
	// Unit is one of lines.Units, which may follow a Number; "" if there is none.
	Unit string `json:"unit,omitempty"`
	// Encode says how a Category becomes numbers: "onehot", "count" or "target"; "" leaves it to the options of
	// the encoding.
	Encode string `json:"encode,omitempty"`
	// Fill is the number that replaces a missing value of a Number; "" means the mean. In an
	// incomplete Description it may be Median.
	Fill string `json:"fill,omitempty"`
}

// encodings are the values of Column.Encode.
var encodings = []string{"onehot", "count", "target"}

// Values of Column.Zone.
const (
	zoneAll  = "all"
	zoneSome = "some"
	zoneNone = "none"
)

// Words in place of a number for Column.Fill.
const (
	Mean   = "mean" // the same as ""
	Median = "median"
)

// Table describes the columns of a row, in the order of the row.
type Table struct {
	Columns []Column `json:"columns"`
	Rules
}

// DefaultMissing are the texts that mean a missing value unless others are given.
var DefaultMissing = []string{"?", "n/a", "na", "nan", "null"}

// Limits of a schema.
const (
	MaxLevels    = 1 << 20 // levels, or buckets, of a column
	maxLevelText = 1 << 10 // bytes of a level
	maxCodes     = 100     // texts that mean a missing value
)

// FillNumber returns Fill as a number. It is not ok if Fill is not a number or does not fit in float32.
func (c *Column) FillNumber() (v float64, ok bool) {
	v, err := strconv.ParseFloat(c.Fill, 64)
	return v, err == nil && exact.Finite(float32(v))
}

// Width returns how many numbers a column has in a row.
func (c *Column) Width() int {
	if c.Type == Time {
		return len(timeParts)
	}
	return 1
}

// Values returns the number of different values of a category, not counting missing ones: its
// levels and one for all other texts, or its buckets. It is 0 for other types.
func (c *Column) Values() int {
	switch {
	case c.Type != Category:
		return 0
	case c.Buckets > 0:
		return c.Buckets
	}
	return len(c.Levels) + 1
}

// Width returns the number of values of a row.
func (t *Table) Width() (n int) {
	for i := range t.Columns {
		n += t.Columns[i].Width()
	}
	return n
}

// Names returns the names of the values of a row: the name of the column, followed for a time by a
// point and the part, such as date.month.
func (t *Table) Names() []string {
	var names []string
	for _, c := range t.Columns {
		if c.Type != Time {
			names = append(names, c.Name)
			continue
		}
		for _, part := range timeParts {
			names = append(names, c.Name+"."+part)
		}
	}
	return names
}

// Owners returns, for each value of a row, the name of its column.
func (t *Table) Owners() []string {
	var names []string
	for i := range t.Columns {
		for range t.Columns[i].Width() {
			names = append(names, t.Columns[i].Name)
		}
	}
	return names
}

// Firsts returns, for each value of a row, the index of the first value of the same column.
func (t *Table) Firsts() (first []int) {
	for i := range t.Columns {
		at := len(first)
		for range t.Columns[i].Width() {
			first = append(first, at)
		}
	}
	return first
}

// String counts the columns of each type, such as "6 numbers and 8 categories of 99 levels".
func (t *Table) String() string {
	count := map[Type]int{}
	levels, buckets := 0, 0
	for i := range t.Columns {
		c := &t.Columns[i]
		count[c.Type]++
		levels += len(c.Levels)
		buckets += c.Buckets
	}
	var parts, details []string
	add := func(to *[]string, n int, one, many string) {
		if n == 1 {
			many = one
		}
		if n > 0 {
			*to = append(*to, fmt.Sprintf("%d %s", n, many))
		}
	}
	add(&parts, count[Number], "number", "numbers")
	add(&parts, count[Boolean], "boolean", "booleans")
	add(&parts, count[Time], "time", "times")
	add(&parts, count[Category], "category", "categories")
	add(&details, levels, "level", "levels")
	add(&details, buckets, "hash bucket", "hash buckets")
	if len(details) > 0 {
		parts[len(parts)-1] += " of " + strings.Join(details, " and ")
	}
	return Enumerate(parts)
}

// Enumerate joins items for a message: a, b and c.
func Enumerate(items []string) string {
	last := len(items) - 1
	if last <= 0 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:last], ", ") + " and " + items[last]
}

// plain reports whether all columns are numbers without special rules, as they are read without a schema.
func (t *Table) plain() bool {
	return t.Decimal == 0 && t.Thousands == 0 &&
		!slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Type != Number || c.Fill != "" || c.Unit != "" })
}

// Validate returns an error unless rows can be read by the table, which may come from a
// damaged file.
func (t *Table) Validate() error {
	if len(t.Columns) == 0 || len(t.Columns) > rowio.MaxDim {
		return fmt.Errorf("schema: the number of columns must be 1 to %d (have %d)", rowio.MaxDim, len(t.Columns))
	}
	for i := range t.Columns {
		if err := t.Columns[i].validate(); err != nil {
			return fmt.Errorf("schema: column %d (%.60q): %w", i+1, t.Columns[i].Name, err)
		}
	}
	if n := t.Width(); n > rowio.MaxDim {
		return fmt.Errorf("schema: rows of %d values; at most %d are possible", n, rowio.MaxDim)
	}
	return t.Rules.Validate()
}

func (c *Column) validate() error {
	switch c.Type {
	case Number, Boolean:
	case Category:
		return c.validateLevels()
	case Time:
		if timeLayoutOf(c.Layout) == nil {
			return fmt.Errorf("unknown layout of times %.40q; want one of %s", c.Layout, strings.Join(TimeLayoutNames(), ", "))
		}
	default:
		return fmt.Errorf("unknown type %.40q; want number, boolean, category or time", c.Type)
	}
	if len(c.Levels) > 0 || c.Buckets != 0 {
		return fmt.Errorf("a %s has no levels", c.Type)
	}
	if c.Encode != "" {
		return fmt.Errorf("a %s is not encoded by %.40q; that is for categories", c.Type, c.Encode)
	}
	if c.Fill != "" {
		if c.Type != Number {
			return fmt.Errorf("a %s has no fill; that is for numbers", c.Type)
		}
		if _, ok := c.FillNumber(); !ok {
			return fmt.Errorf("fill %.40q is not a number that float32 can hold; want mean, median or a number", c.Fill)
		}
	}
	if (c.Layout != "" || c.Zone != "") && c.Type != Time {
		return fmt.Errorf("a %s has no layout and no zone", c.Type)
	}
	if c.Zone != "" && c.Zone != zoneAll && c.Zone != zoneSome && c.Zone != zoneNone {
		return fmt.Errorf("unknown zone %.40q; want all, some or none", c.Zone)
	}
	if c.Unit != "" && (c.Type != Number || !slices.Contains(lines.Units[:], c.Unit)) {
		return fmt.Errorf("a %s cannot have the unit %.40q; numbers have one of %s", c.Type, c.Unit,
			strings.Join(lines.Units[:], " "))
	}
	return nil
}

func (c *Column) validateLevels() error {
	switch {
	case c.Fill != "":
		return errors.New("a category has no fill: a missing value is a level")
	case c.Encode != "" && !slices.Contains(encodings, c.Encode):
		return fmt.Errorf("unknown encoding %.40q; want one of %s", c.Encode, strings.Join(encodings, ", "))
	case c.Layout != "" || c.Zone != "" || c.Unit != "":
		return errors.New("a category has no layout, zone or unit")
	case c.Buckets < 0 || c.Buckets > MaxLevels || len(c.Levels) > MaxLevels:
		return fmt.Errorf("%d levels and %d buckets; there may be at most %d", len(c.Levels), c.Buckets, MaxLevels)
	case c.Buckets > 0 && len(c.Levels) > 0:
		return errors.New("has both levels and buckets; give one of them")
	}
	for i, l := range c.Levels {
		switch {
		case len(l) > maxLevelText:
			return fmt.Errorf("level %d has %d bytes; at most %d are possible", i+1, len(l), maxLevelText)
		case i > 0 && l == c.Levels[i-1]:
			return fmt.Errorf("level %.40q occurs twice", l)
		case i > 0 && l < c.Levels[i-1]:
			return fmt.Errorf("level %d (%.40q) does not come after %.40q; levels are ascending", i+1, l,
				c.Levels[i-1])
		}
	}
	return nil
}

// Text returns the text of a column whose first value in a row is v. number is the text to return if
// the column is a Number. A time is in UTC; a hash bucket has its number.
func (c *Column) Text(v float64, number string) string {
	switch {
	case math.IsNaN(v):
		return ""
	case c.Type == Boolean:
		return strconv.FormatBool(v == 1)
	case c.Type == Time:
		return time.Unix(int64(math.Round(v*86400)), 0).UTC().Format(time.DateTime)
	case c.Type == Category && c.Buckets > 0:
		return "#" + number
	case c.Type == Category && v >= 0 && v < float64(len(c.Levels)):
		return c.Levels[int(v)]
	case c.Type == Category:
		return "(other)"
	}
	return number
}

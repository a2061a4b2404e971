package schema

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rowio"
)

// Sink takes the fields of records from the reader of a format. Columns are numbered from 0 as in
// the Table. row holds the values of the record: a Decoder stores them, other Sinks ignore row. The
// reason, unless empty, explains why the record cannot be used.
type Sink interface {
	// Text takes a field as text, without spaces around it. It must not retain text.
	Text(row []float32, column int, text []byte) (reason string)
	// Float takes a field that is stored as a number.
	Float(row []float32, column int, v float64) (reason string)
	// Null takes a field that is stored as missing.
	Null(row []float32, column int) (reason string)
}

// Decoder stores the values of fields in rows, by a Table. It is not safe for concurrent use.
type Decoder struct {
	columns   []decoding
	width     int
	missing   *missing
	decimal   byte
	thousands byte
	text      []byte // scratch of PlainNumber and AppendFloat
	unit      []byte // scratch of CutUnit
	counted   int64  // see Counted
	nulls     int64  // see Nulls
	others    int64  // see Others
	zones     int64  // see Zones
}

var _ Sink = (*Decoder)(nil)

// decoding has what is needed to decode a column.
type decoding struct {
	*Column
	slot   int // index of its first value
	levels map[string]int32
	layout *TimeLayout
	centre float64
}

// NewDecoder returns a Decoder for a valid table. centre, unless nil, holds a number for each
// value of a row, which is subtracted in float64 before the value is rounded to float32.
func NewDecoder(t *Table, centre []float64) *Decoder {
	d := &Decoder{missing: newMissing(t.Missing), decimal: t.Decimal, thousands: t.Thousands}
	slot := 0
	for i := range t.Columns {
		c := decoding{Column: &t.Columns[i], slot: slot, layout: timeLayoutOf(t.Columns[i].Layout)}
		if centre != nil && c.Type == Number {
			c.centre = centre[slot]
		}
		if c.Type == Category && c.Buckets == 0 {
			c.levels = make(map[string]int32, len(c.Levels))
			for j, l := range c.Levels {
				c.levels[l] = int32(j)
			}
			for j, l := range c.Levels { // a schema file may have 1.0 for the level 1
				if whole := string(lines.CutFraction([]byte(l), t.Decimal)); whole != l {
					if _, ok := c.levels[whole]; !ok {
						c.levels[whole] = int32(j)
					}
				}
			}
		}
		d.columns = append(d.columns, c)
		slot += c.Width()
	}
	d.width = slot
	return d
}

// Width returns the number of values of a row.
func (d *Decoder) Width() int { return d.width }

// Slot returns the index in a row of the first value of a column.
func (d *Decoder) Slot(column int) int { return d.columns[column].slot }

// SlotWidth returns the number of values of a column in a row.
func (d *Decoder) SlotWidth(column int) int { return d.columns[column].Width() }

// Simple reports whether lines.NumberPrefix can parse the column: its numbers have a decimal point and no separator
// of thousands, and none of them means a missing value. It also returns the centre to subtract from a number.
func (d *Decoder) Simple(column int) (centre float64, ok bool) {
	c := &d.columns[column]
	return c.centre, c.Type == Number && c.Unit == "" && (d.decimal == 0 || d.decimal == '.') && d.thousands == 0 &&
		len(d.missing.values) == 0
}

// Use counts the missing values and the unknown category values of a used row. It may be called on nil.
func (d *Decoder) Use(row []float32) {
	if d == nil || d.counted == 0 {
		return
	}
	for i := range d.columns {
		switch c, v := &d.columns[i], row[d.columns[i].slot]; {
		case math.IsNaN(float64(v)):
			d.nulls++
		case c.levels != nil && v == float32(len(c.Levels)):
			d.others++
		}
	}
}

// Others returns the number of unknown category values in used rows.
func (d *Decoder) Others() int64 { return d.others }

// Zones returns the number of times with a zone where the described data has none, plus those
// without a zone where all have one.
func (d *Decoder) Zones() int64 { return d.zones }

// Counted returns the number of missing values, unknown category values and Zones, in all rows.
func (d *Decoder) Counted() int64 { return d.counted }

// Nulls returns the number of missing values in used rows.
func (d *Decoder) Nulls() int64 { return d.nulls }

// Null stores a missing value.
func (d *Decoder) Null(row []float32, column int) string {
	d.counted++
	c := &d.columns[column]
	nan := float32(math.NaN())
	for i := range c.Width() {
		row[c.slot+i] = nan
	}
	return ""
}

// isMissing reports whether a text means a missing value.
func (d *Decoder) isMissing(text []byte) bool {
	return len(text) == 0 || d.missing.find(text) >= 0 ||
		len(d.missing.values) > 0 && d.missing.find(lines.CutFraction(text, d.decimal)) >= 0
}

// Text stores the values of a field.
func (d *Decoder) Text(row []float32, column int, text []byte) (reason string) {
	if d.isMissing(text) {
		return d.Null(row, column)
	}
	c := &d.columns[column]
	switch c.Type {
	case Category:
		row[c.slot] = d.level(c, text)
		return ""
	case Boolean:
		v, ok := parseBool(lines.CutFraction(text, d.decimal))
		if !ok {
			return Quote(text) + " " + notBoolean
		}
		row[c.slot] = v
		return ""
	case Time:
		t, ok := c.layout.Parse(lines.CutFraction(text, d.decimal)) // pandas writes 20240229.0 next to missing values
		if !ok {
			return fmt.Sprintf("%s %s %s", Quote(text), notTime, c.layout.Name)
		}
		c.layout.values(row[c.slot:], t)
		if c.Zone == zoneAll || c.Zone == zoneNone {
			if c.layout.zoned(text) != (c.Zone == zoneAll) {
				d.counted++
				d.zones++
			}
		}
		return ""
	}
	v, plain, reason := d.parse(c, text)
	switch {
	case reason != "":
		return reason
	case plain == nil:
		return d.Null(row, column)
	case c.centre != 0:
		v = lines.NumberMinus(plain, c.centre)
	}
	row[c.slot] = v
	return ""
}

// Number returns the number in a field of a column of numbers, from which no centre is subtracted. It is NaN if the
// field means a missing value.
func (d *Decoder) Number(column int, text []byte) (v float64, reason string) {
	if d.isMissing(text) {
		return math.NaN(), ""
	}
	_, plain, reason := d.parse(&d.columns[column], text)
	if plain == nil {
		return math.NaN(), reason
	}
	return lines.ParseFloat64(plain), ""
}

// parse parses a decimal number. It also returns it as a text that package lines can parse, which is nil if the
// number means a missing value.
func (d *Decoder) parse(c *decoding, text []byte) (v float32, plain []byte, reason string) {
	written := text
	if c.Unit != "" {
		if number, unit := lines.CutUnit(&d.unit, text); unit >= 0 && lines.Units[unit] == c.Unit {
			text = number
		}
	}
	if d.thousands != 0 || d.decimal == ',' {
		var ok bool
		text, ok = lines.PlainNumber(&d.text, text, d.decimal, d.thousands)
		if !ok {
			return 0, nil, fmt.Sprintf("%s %s: %s", Quote(written), notNumber,
				(&Rules{Decimal: d.decimal, Thousands: d.thousands}).form())
		}
	}
	v, ok := lines.ParseNumber(text)
	switch {
	case !ok:
		return 0, nil, d.notNumber(written)
	case len(d.missing.values) > 0 && d.missing.value(lines.ParseFloat64(text)) >= 0:
		return 0, nil, ""
	case !exact.Finite(v):
		return 0, nil, Quote(written) + " is " + rowio.CheckFinite(v)
	}
	return v, text, ""
}

// Parts of reasons. They follow the quoted text; notTime also precedes the name of the layout.
const (
	notNumber  = "is not a number"
	notBoolean = "is neither true nor false"
	notTime    = "is not a time of layout"
)

// notNumber returns the reason for a text that is not a number, with advice if the text is a number in another form.
func (d *Decoder) notNumber(text []byte) string {
	var may []string
	for _, f := range forms[:2] { // a comma before the fraction, or between thousands
		if plain, ok := lines.PlainNumber(&d.text, text, f.decimal, f.thousands); ok &&
			(d.decimal != ',' || f.decimal != ',') {
			if _, ok := lines.ParseNumber(plain); ok {
				may = append(may, map[byte]string{',': "begin its fraction", '.': "separate its thousands"}[f.decimal])
			}
		}
	}
	if len(may) > 0 {
		return fmt.Sprintf("%s %s (its comma may %s)", Quote(text), notNumber, strings.Join(may, ", or "))
	}
	return Quote(text) + " " + notNumber
}

// level returns the value of a category.
func (d *Decoder) level(c *decoding, text []byte) float32 {
	if i, ok := c.levels[string(text)]; ok {
		return float32(i)
	}
	text = lines.CutFraction(text, d.decimal)
	if c.Buckets > 0 {
		return float32(xxhash.Sum64(text) % uint64(c.Buckets))
	}
	if i, ok := c.levels[string(text)]; ok {
		return float32(i)
	}
	d.counted++
	return float32(len(c.Levels))
}

// Float stores a number: in a column of another type as its shortest decimal text. NaN is a missing value.
func (d *Decoder) Float(row []float32, column int, v float64) (reason string) {
	c := &d.columns[column]
	switch {
	case math.IsNaN(v):
		return d.Null(row, column)
	case d.missing.value(v) >= 0:
		return d.Null(row, column)
	case c.Type != Number:
		d.text = AppendFloat(d.text[:0], v)
		return d.Text(row, column, d.text)
	}
	x := lines.NearestFloat32(v)
	if !exact.Finite(x) {
		return strconv.FormatFloat(v, 'g', -1, 64) + " is " + rowio.CheckFinite(x)
	}
	if c.centre != 0 {
		x = float32(v - c.centre)
	}
	row[c.slot] = x
	return ""
}

// AppendFloat appends the text that stands for a stored number: the shortest decimal number
// that rounds to it, without an exponent up to 2⁵³.
func AppendFloat(dst []byte, v float64) []byte {
	a := math.Abs(v)
	switch n := int64(v); {
	case a <= 1<<53 && float64(n) == v && (n != 0 || !math.Signbit(v)):
		return strconv.AppendInt(dst, n, 10)
	case a <= 1<<53 && (a >= 1e-5 || a == 0):
		return strconv.AppendFloat(dst, v, 'f', -1, 64)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

// parseBool returns 1 for a text that means true and 0 for false.
func parseBool(text []byte) (v float32, ok bool) {
	if len(text) > 5 {
		return 0, false
	}
	var lower [5]byte
	switch string(appendLower(lower[:0], text)) {
	case "true", "t", "yes", "y", "1":
		return 1, true
	case "false", "f", "no", "n", "0":
		return 0, true
	}
	return 0, false
}

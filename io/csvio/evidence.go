package csvio

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
)

// evidenceRecords and evidenceLen limit the records, and bytes, that are compared with the first record.
const (
	evidenceRecords = 1000
	evidenceLen     = 1 << 20
)

// fewRecords is how many numbers must be below a number before it can count as a name.
const fewRecords = 5

// evidence is what the first records of a file show about whether it has a header.
type evidence struct {
	first   []kind   // kinds of the fields of the first record
	texts   []string // texts of these fields
	columns []below
	records int  // later records that differ from the first
	twice   bool // two fields of the first record have the same text

	counting bool // the first record is 0, 1, 2, …, the default names of columns in pandas
	index    bool // an empty field, the name of the index column in pandas, comes first
}

// below summarises a column in the records after the first.
type below struct {
	numbers   int  // records with a number
	whole     bool // one of them has no decimal point
	fractions bool // one of them has a fraction
	min, max  float64
	again     int // records with the same text as the first one
	times     int // records with a time, if the first has one
}

// gather collects evidence from rec, the first record with n fields, and from the records after it.
func gather(r *lines.Reader, rec []byte, comma byte, n int) evidence {
	e := evidence{first: make([]kind, n), texts: make([]string, n), columns: make([]below, n)}
	f := fields{rec: rec, comma: comma}
	seen := map[string]bool{}
	for i := range e.first {
		b, _ := f.next()
		text := string(b)
		e.first[i], e.texts[i] = kindOf(b), text
		e.twice = e.twice || text != "" && seen[text]
		seen[text] = true
	}
	e.counts(e.texts)
	for through := r.Offset() + evidenceLen; e.records < evidenceRecords && r.Offset() < through; {
		rec, err := r.Next()
		if err != nil {
			if _, bad := errors.AsType[*rowio.BadRow](err); bad {
				continue
			}
			break
		}
		f.rec, f.at = rec, 0
		if m, _, reason := f.count(); m == n && reason == "" && !repeats(f, e.texts) {
			e.add(f)
		}
	}
	return e
}

// repeats reports whether a record, whose fields are well formed, has these texts.
func repeats(f fields, texts []string) bool {
	for _, text := range texts {
		if b, _ := f.next(); string(b) != text {
			return false
		}
	}
	return true
}

// add adds a record.
func (e *evidence) add(f fields) {
	e.records++
	for i := range e.columns {
		c := &e.columns[i]
		b, _ := f.next()
		if string(b) == e.texts[i] {
			c.again++
		}
		switch kindOf(b) {
		case kindNumber:
			v := lines.ParseFloat64(b)
			if c.numbers == 0 {
				c.min, c.max = v, v
			}
			c.numbers++
			c.min, c.max = min(c.min, v), max(c.max, v)
			c.whole = c.whole || bytes.IndexByte(b, '.') < 0
			c.fractions = c.fractions || v != math.Trunc(v)
		case kindText:
			if e.first[i] == kindText && isTime([]byte(e.texts[i])) && isTime(b) {
				c.times++
			}
		}
	}
}

// isTime reports whether a text is a time in one of the layouts that columns may have.
func isTime(b []byte) bool {
	if len(b) == 0 || b[0]-'0' > 9 {
		return false
	}
	for i := range schema.TimeLayouts {
		if _, ok := schema.TimeLayouts[i].Parse(b); ok {
			return true
		}
	}
	return false
}

// counts notes whether the texts of the first record are 0, 1, 2, … with at most one
// other text among them, a named label.
func (e *evidence) counts(texts []string) {
	n, others := 0, 0
	for f, t := range texts {
		switch {
		case t == strconv.Itoa(n):
			n++
		case f == 0 && t == "":
			e.index = true
		case e.first[f] == kindText:
			others++
		default:
			others = len(texts)
		}
	}
	e.counting = n >= 2 && others <= 1
}

// pandas returns an error if the first record may be the header that pandas writes for
// unnamed columns, because reading it as a row would add a false row. With two columns, 0
// and 1 may well be a row, so the columns must then have fractions below.
func (e *evidence) pandas() error {
	last, fractions := -1, false
	for f, k := range e.first {
		if k != kindNumber {
			continue
		}
		last++
		fractions = fractions || e.columns[f].numbers > 0 && !e.columns[f].whole
	}
	if !e.counting || last < 2 && !fractions {
		return nil
	}
	hint := ""
	if e.index {
		hint = "; the first column is the index, which is not a feature: write the file with index=False"
	}
	return fmt.Errorf("the first line counts from 0 to %d, like the header that pandas writes for columns "+
		"without names; set header to yes if it is a header, to no if it is a row%s", last, hint)
}

// Doubts about the header.
const (
	asRow    = "the first line is read as a row, because %s; --header yes reads it as the names of the columns"
	asHeader = "the first line is read as the names of the columns, because %s; --header no reads it as a row"
)

// header decides whether the first record is a header. The doubt, unless empty, says why that may be
// wrong. label is the field of the label.
//
//   - Text above numbers is evidence for a header; above the label, where text may be data,
//     it counts only if numbers follow.
//   - A number or a time in the first record is evidence against, except above the label.
//     But whole numbers that are unlike all numbers below them are names, such as years.
//   - A text that occurs again in its own column is a value. So is one that occurs twice in the first record.
//
// If text above numbers and a number disagree (a misspelt number), the result is an error,
// because a wrong guess would lose a row or add a false one. Without any evidence, the
// record is a header if all its fields are text.
func (e *evidence) header(label int) (header bool, doubt string, err error) {
	s := e.signs(label)
	switch {
	case s.again == 0 && e.numbersAreNames():
		return true, fmt.Sprintf(asHeader, "its numbers are unlike those below them"), nil
	case s.name >= 0 && 2*s.again > s.filled:
		return false, fmt.Sprintf(asRow, "most of its texts occur again in their columns"), nil
	case s.name >= 0 && s.value >= 0:
		return false, "", fmt.Errorf("cannot tell whether the first line is a header: field %d is text above "+
			"numbers, but field %d is a number; set header to yes or no", s.name+1, s.value+1)
	case s.name >= 0:
		return true, "", nil
	case s.value >= 0:
		if s.again == 0 && e.steps() {
			doubt = fmt.Sprintf(asRow, "its numbers could be values, though they rise by equal steps, as names do")
		}
		return false, doubt, nil
	case s.texts == 0, s.again > 0 && 2*s.again >= s.filled:
		return false, "", nil
	case label >= 0 && e.first[label] == kindNumber && e.isValue(label):
		return false, fmt.Sprintf(asRow, "its label is a number like those below it"), nil
	case label >= 0 && e.first[label] != kindMissing && e.columns[label].again > 0:
		return false, fmt.Sprintf(asRow, "its label occurs again below it"), nil
	case s.again > 0:
		return true, fmt.Sprintf(asHeader, "most of its texts do not occur again in their columns"), nil
	case e.twice:
		return false, fmt.Sprintf(asRow, "a text occurs twice in it"), nil
	}
	return true, "", nil
}

// signs are what the fields of the first record show about whether it is a header.
type signs struct {
	name   int // last field with text above numbers; −1 if there is none
	value  int // last field with a number or a time, except the label; −1 if there is none
	texts  int // fields with text that is not a time, except the label
	filled int // fields that are not empty
	again  int // of these, the ones whose text occurs again in their columns
}

// signs returns signs for and against a header in the first record. label is the index of the field that is named as
// the label, if the first record is a header.
func (e *evidence) signs(label int) signs {
	s := signs{name: -1, value: -1}
	for f, k := range e.first {
		c := &e.columns[f]
		if e.texts[f] != "" {
			s.filled++
			s.again += min(c.again, 1)
		}
		switch {
		case k == kindText && f == label:
			if e.records > 0 && c.numbers == e.records {
				s.name = f
			}
		case k == kindText && c.times > 0, k == kindNumber && f != label:
			s.value = f
		case k == kindText:
			s.texts++
			if c.numbers > 0 {
				s.name = f
			}
		}
	}
	return s
}

// isValue reports whether the number of a column in the first record is like those below it.
func (e *evidence) isValue(f int) bool {
	c := &e.columns[f]
	v := lines.ParseFloat64([]byte(e.texts[f]))
	return c.again > 0 || strings.Contains(e.texts[f], ".") || c.numbers > 0 && c.min <= v && v <= c.max
}

// numerals returns the numbers of the first record, if they can be names: at least two, whole, not
// negative, and all different.
func (e *evidence) numerals() (n []int, ok bool) {
	seen := map[int]bool{}
	for f, k := range e.first {
		if k != kindNumber {
			continue
		}
		v, err := strconv.Atoi(e.texts[f])
		if err != nil || v < 0 || strconv.Itoa(v) != e.texts[f] || seen[v] {
			return nil, false
		}
		seen[v] = true
		n = append(n, v)
	}
	return n, len(n) >= 2
}

// steps reports whether the numbers of the first record can be names and rise by equal steps.
func (e *evidence) steps() bool {
	n, ok := e.numerals()
	for i := 2; i < len(n); i++ {
		ok = ok && n[i]-n[i-1] == n[1]-n[0]
	}
	return ok && n[1] > n[0]
}

// numbersAreNames reports whether the numbers of the first record are names: each is far from all
// numbers below it, and they rise by equal steps or all columns have fractions.
func (e *evidence) numbersAreNames() bool {
	n, ok := e.numerals()
	fractions := true
	for f, k := range e.first {
		if k != kindNumber || !ok {
			continue
		}
		c, v := &e.columns[f], float64(n[0])
		n = n[1:]
		span := c.max - c.min
		ok = c.numbers >= fewRecords && (v < c.min-span || v > c.max+span)
		fractions = fractions && c.fractions
	}
	return ok && (fractions || e.steps())
}

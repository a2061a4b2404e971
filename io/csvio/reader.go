package csvio

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/lines/decimal"
	"github.com/bochner-ml/bochner/io/rows"
)

// The use of a field that is not one of the row's values.
const (
	ignored = -1 - iota
	label
)

// Reader reads the rows of one shard of a CSV file.
type Reader struct {
	lines  *lines.Reader
	layout Layout
	slots  []int32 // for each field: the index of its value in the row, ignored or label
	label  []byte  // label of the last row
	text   []byte  // text of a quoted field, reused
	begun  bool
	fatal  error
	centre []float64 // subtracted from the numbers of a row; nil for none
}

var _ rows.Reader = (*Reader)(nil)

// NewReader returns a Reader of the rows in the records of r, which must have the
// options Quote and the layout's Comma. It panics if the layout is not valid.
//
// If the layout has a header and the shard starts at the beginning of the file, its
// first record is the header. A file must not be cut before its header.
func NewReader(r *lines.Reader, l Layout) *Reader {
	if l.Validate() != nil {
		panic("csvio: invalid layout")
	}
	slots := make([]int32, len(l.Columns))
	for f := range slots {
		slots[f] = ignored
	}
	for i, f := range l.Features {
		slots[f] = int32(i)
	}
	if l.Label >= 0 {
		slots[l.Label] = label
	}
	return &Reader{lines: r, layout: l, slots: slots}
}

// Centre subtracts c, which has the length of a row, from each row in float64, before
// rounding to float32.
func (r *Reader) Centre(c []float64) { r.centre = c }

// Line returns the line on which the row that Append read last begins.
func (r *Reader) Line() int64 { return r.lines.Line() }

// Append implements rows.Reader. Fields that are not features must be well formed, but
// may hold anything.
func (r *Reader) Append(x []float32) ([]float32, []byte, error) {
	if !r.begun {
		r.begun = true
		r.fatal = r.begin()
	}
	if r.fatal != nil {
		return x, nil, r.fatal
	}
	rec, err := r.lines.Next()
	if err != nil {
		return x, nil, err
	}
	return r.parse(x, rec)
}

// begin skips the header. A header that differs from the layout's is an error: with
// other columns or another order, the rows would be wrong.
func (r *Reader) begin() error {
	if !r.layout.Header || r.lines.Begin() != 0 {
		return nil
	}
	rec, err := r.lines.Next()
	if err == io.EOF {
		return err
	}
	if err != nil {
		return fmt.Errorf("csvio: header: %w", err)
	}
	n, at, reason := (&fields{rec: rec, comma: r.layout.Comma}).count()
	if reason != "" {
		return fmt.Errorf("csvio: header: field %d %s", at+1, reason)
	}
	if want := len(r.layout.Columns); n != want {
		return fmt.Errorf("csvio: header: has %d columns, want %d", n, want)
	}
	for f, name := range names(rec, r.layout.Comma, n) {
		if want := r.layout.Columns[f]; name != want {
			return fmt.Errorf("csvio: header: column %d is %s, want %s", f+1, quote(name), quote(want))
		}
	}
	return nil
}

// parse appends the values of a record to x.
func (r *Reader) parse(x []float32, rec []byte) ([]float32, []byte, error) {
	base, d := len(x), len(r.layout.Features)
	x = slices.Grow(x, d)[:base+d]
	row := x[base:]
	comma := r.layout.Comma
	var name []byte
	at := 0 // where the field begins
	for f, slot := range r.slots {
		if at > len(rec) {
			return x[:base], nil, r.bad(rec, f, "")
		}
		if slot >= 0 {
			// A bare number up to the comma, which nearly all fields are.
			v, n := decimal.Prefix(rec[at:])
			if end := at + n; n > 0 && (end == len(rec) || rec[end] == comma) && rows.Finite(v) {
				if r.centre != nil && r.centre[slot] != 0 {
					v = decimal.Less(rec[at:end], r.centre[slot])
				}
				row[slot] = v
				at = end + 1
				continue
			}
		} else if slot == ignored {
			n := bytes.IndexByte(rec[at:], comma)
			if n < 0 {
				n = len(rec) - at
			}
			if bytes.IndexByte(rec[at:at+n], '"') < 0 {
				at += n + 1
				continue
			}
		}
		w := fields{rec: rec, comma: comma, at: at, text: r.text}
		b, why := w.next()
		at, r.text = w.at, w.text
		if why != "" {
			return x[:base], nil, r.bad(rec, f, why)
		}
		switch {
		case slot >= 0:
			v, ok := decimal.Parse(b)
			if !ok || !rows.Finite(v) {
				return x[:base], nil, r.bad(rec, f, reason(b))
			}
			if r.centre != nil && r.centre[slot] != 0 {
				v = decimal.Less(b, r.centre[slot])
			}
			row[slot] = v
		case slot == label && len(b) == 0:
			return x[:base], nil, r.bad(rec, f, "is empty (labels are required)")
		case slot == label:
			r.label = append(r.label[:0], b...)
			name = r.label
		}
	}
	if at <= len(rec) {
		return x[:base], nil, r.bad(rec, 0, "")
	}
	return x, name, nil
}

// bad returns the error of a record whose field f is invalid for a reason. If the
// record is not CSV or has the wrong number of fields, that is reported instead.
func (r *Reader) bad(rec []byte, f int, reason string) error {
	e := &rows.BadRow{Line: r.lines.Line()}
	n, at, broken := (&fields{rec: rec, comma: r.layout.Comma}).count()
	want := len(r.slots)
	switch {
	case broken != "":
		f, reason = at, broken
	case n == 1 && want > 1:
		e.Reason = fmt.Sprintf("has 1 field, want %d (separated by %q)", want, rune(r.layout.Comma))
		return e
	case n != want:
		e.Reason = fmt.Sprintf("has %d %s, want %d", n, plural(n, "field"), want)
		return e
	}
	e.Column = f + 1
	if f < want {
		reason = inColumn(r.layout.Columns[f], reason)
	}
	e.Reason = reason
	return e
}

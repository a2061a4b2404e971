package csvio

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
)

// reader reads the rows of one shard of a CSV file.
type reader struct {
	*dataset.Fields
	lines  *lines.Reader
	layout *Layout
	fields []field
	text   []byte // text of a quoted field, reused
	recode []byte // a record in UTF-8
	begun  bool
	others *dataset.OtherLines
	fatal  error
}

// field says how a field is read.
type field struct {
	unread bool // it may hold anything
	simple bool // it is a plain number, which goes to this index in the row
	slot   int
	centre float64      // number to subtract from it
	tap    *dataset.Tap // takes the number, too; may be nil
}

var _ rowio.Reader = (*reader)(nil)

// newReader returns a reader of the rows in records, which must have the
// layout's Comma. It panics if the layout is not valid.
//
// If the layout has a header and the shard starts at the beginning of the file, its
// first record is the header. A file must not be cut before its header.
func newReader(records *lines.Reader, in *dataset.Input, l *Layout) (*reader, error) {
	if l.Validate() != nil {
		panic("csvio: invalid layout")
	}
	in.Tabs = l.Comma == '\t'
	sinks, err := dataset.NewFields(in, &l.TableLayout)
	if err != nil {
		return nil, err
	}
	r := &reader{Fields: sinks, lines: records, layout: l, fields: make([]field, len(l.Columns)), others: &in.Others}
	for f := range r.fields {
		to, tap := r.To[f].Untapped()
		if d := to.Decoder(); d != nil {
			centre, simple := d.Simple(to.Column)
			r.fields[f] = field{simple: simple, slot: d.Slot(to.Column), centre: centre, tap: tap}
		}
		// Weights and identifiers must be UTF-8 even if they are not read.
		r.fields[f].unread = r.To[f].Sink == nil && f != l.Role(schema.Weight) && f != l.Role(schema.ID)
	}
	return r, nil
}

// Line returns the line on which the row that Append read last begins.
func (r *reader) Line() int64 { return r.lines.Line() }

// Append implements rowio.Reader. Fields that are not features must be well formed, but
// may hold anything.
func (r *reader) Append(x []float32) ([]float32, []byte, error) {
	if !r.begun {
		r.begun = true
		r.fatal = r.begin()
	}
	if r.fatal != nil {
		return x, nil, r.fatal
	}
	for {
		rec, err := r.lines.Next()
		if err != nil {
			return x, nil, err
		}
		if len(rec) > len(bom) && rec[0] == bom[0] { // of a file that was appended to another
			rec = bytes.TrimPrefix(rec, bom)
		}
		rec = r.layout.Encoding.decode(&r.recode, rec)
		switch {
		case r.layout.Header && r.repeatsHeader(rec):
			r.others.Headers++
		default:
			if r.others.Quoted.Rows == 0 && r.lines.Lines()-r.lines.Line() > fewLines {
				r.findQuoted(rec)
			}
			return r.parse(x, rec)
		}
	}
}

// fewLines is the largest number of lines in a quoted field that is not examined by findQuoted.
const fewLines = 4

// findQuoted looks for a quoted field that seems to hold records: nine of ten of its lines have as many
// separators as a record.
func (r *reader) findQuoted(rec []byte) {
	f := fields{rec: rec, comma: r.layout.Comma}
	separators := len(r.layout.Stored()) - 1
	for line := r.lines.Line(); f.more(); {
		text, reason := f.next()
		if reason != "" || separators == 0 {
			return
		}
		inside := bytes.Split(text, []byte{'\n'})
		from, alike := line, 0
		line += int64(len(inside) - 1)
		if len(inside) < fewLines+2 {
			continue
		}
		inside = inside[1 : len(inside)-1] // the others are parts of lines
		for _, l := range inside {
			if bytes.Count(l, []byte{r.layout.Comma}) == separators {
				alike++
			}
		}
		if 10*alike >= 9*len(inside) {
			r.others.Quoted = dataset.QuotedRows{From: from, To: line, Rows: int64(alike)}
			return
		}
	}
}

// repeatsHeader reports whether a record has the fields of the header.
func (r *reader) repeatsHeader(rec []byte) bool {
	names := r.layout.Stored()
	if c := rec[0]; c > ' ' && c != '"' && c != r.layout.Comma && !strings.HasPrefix(names[0], string(c)) {
		return false // nearly all records end here
	}
	f := fields{rec: rec, comma: r.layout.Comma}
	for i, name := range names {
		if !f.more() {
			return false
		}
		if b, reason := f.next(); reason != "" || string(b) != name && (len(b) > 0 || name != generatedName(i)) {
			return false
		}
	}
	return !f.more()
}

var bom = []byte("\xef\xbb\xbf")

// begin skips the header. A header that differs from the layout's is an error: with
// other columns or another order, the rows would be wrong.
func (r *reader) begin() error {
	if !r.layout.Header || r.lines.Begin() != 0 {
		return nil
	}
	rec, err := r.lines.Next()
	if err == io.EOF {
		return err
	}
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	rec = r.layout.Encoding.decode(&r.recode, rec)
	n, at, reason := (&fields{rec: rec, comma: r.layout.Comma}).count()
	if reason != "" {
		return fmt.Errorf("header: field %d %s", at+1, reason)
	}
	if want := len(r.layout.Stored()); n != want {
		return fmt.Errorf("header: has %d columns, want %d", n, want)
	}
	for f, name := range headerNames(rec, r.layout.Comma, n) {
		if want := r.layout.Columns[f]; name != want {
			return fmt.Errorf("header: column %d is %s, want %s", f+1, dataset.Quote(name), dataset.Quote(want))
		}
	}
	return nil
}

// parse appends the values of a record to x.
func (r *reader) parse(x []float32, rec []byte) ([]float32, []byte, error) {
	base := len(x)
	x = slices.Grow(x, r.Width)[:base+r.Width]
	row := x[base:]
	comma := r.layout.Comma
	r.ResetTexts()
	at := 0                 // where the field begins
	var first *rowio.BadRow // the first field that cannot be used
	for f := range r.layout.Stored() {
		if at > len(rec) {
			return x[:base], nil, r.bad(rec, f, "")
		}
		if to := &r.fields[f]; to.simple {
			// A bare number up to the comma, which nearly all fields are.
			v, n := lines.NumberPrefix(rec[at:])
			if end := at + n; n > 0 && (end == len(rec) || rec[end] == comma) && exact.Finite(v) {
				if to.tap != nil {
					to.tap.Number(v)
				}
				if to.centre != 0 {
					v = lines.NumberMinus(rec[at:end], to.centre)
				}
				row[to.slot] = v
				at = end + 1
				continue
			}
		} else if to.unread {
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
		b, why := w.untrimmed()
		at, r.text = w.at, w.text
		if why != "" {
			return x[:base], nil, r.bad(rec, f, why)
		}
		if bad := r.put(row, rec, f, b); bad != nil {
			if !r.ReadsIDs() {
				return x[:base], nil, bad
			}
			first = cmp.Or(first, bad)
		}
	}
	if at <= len(rec) && first == nil {
		return x[:base], nil, r.bad(rec, 0, "")
	}
	for i, text := range r.Path {
		if bad := r.put(row, rec, len(r.fields)-len(r.Path)+i, text); bad != nil {
			first = cmp.Or(first, bad)
		}
	}
	if first != nil {
		return x[:base], nil, first
	}
	return x, r.Target(0), nil
}

// put stores the text of field f of a record, or returns why the record cannot be used.
func (r *reader) put(row []float32, rec []byte, f int, text []byte) *rowio.BadRow {
	if r.fields[f].unread {
		return nil
	}
	if !utf8.Valid(text) {
		return r.bad(rec, f, notUTF8(trim(text, r.layout.Comma)))
	}
	reason := r.To[f].Text(row, text)
	switch {
	case reason == "":
		return nil
	case r.Plain:
		reason = notNumber(trim(text, r.layout.Comma))
	}
	bad := r.bad(rec, f, reason)
	bad.NotNumber = r.Plain
	return bad
}

// bad returns the error of a record whose field f is invalid for a reason. If the
// record is not CSV or has the wrong number of fields, that is reported instead.
func (r *reader) bad(rec []byte, f int, reason string) *rowio.BadRow {
	e := &rowio.BadRow{Line: r.lines.Line()}
	n, at, broken := (&fields{rec: rec, comma: r.layout.Comma}).count()
	want := len(r.layout.Stored())
	switch {
	case broken != "":
		f, reason = at, broken
	case n == 1 && want > 1:
		e.Reason = fmt.Sprintf("has 1 field, want %d (separated by %q)", want, rune(r.layout.Comma))
		return e
	case n != want:
		e.Reason = fmt.Sprintf("has %d %s, want %d", n, dataset.Plural(n, "field"), want)
		return e
	}
	e.Column = f + 1
	if f < want || broken == "" && f < len(r.fields) {
		reason = dataset.InColumn(r.layout.Columns[f], reason)
	}
	e.Reason = reason
	return e
}

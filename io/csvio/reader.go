package csvio

import (
	"bytes"
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

// Values of reader.uses for fields that are not features.
const (
	useNone = -1 - iota
	useWeight
	useText  // only the id, or part of a key
	useLabel // the first label; lower values are further labels
)

// reader reads the rows of one shard of a CSV file.
type reader struct {
	lines  *lines.Reader
	layout Layout
	uses   []int32 // for each field, the index of a feature or one of the constants above
	lastTexts
	rowNumbers
	part   *dataset.TestFilter // nil if all rows are read
	taps   []*dataset.Tap      // of fields that decide about the part, or are described; nil if all rows are read
	text   []byte              // text of a quoted field, reused
	recode []byte              // a record in UTF-8
	path   [][]byte            // values of the last fields, which are in the path of the file
	begun  bool
	others dataset.OtherLines // without blank lines
	fatal  error
}

// lastTexts has the texts of the last row that are not features.
type lastTexts struct {
	labels [][]byte
	weight []byte
	id     kept
	keys   []kept
}

// rowNumbers describes how fields of features become the numbers of a row.
type rowNumbers struct {
	features []feature
	width    int         // numbers in a row
	sink     schema.Sink // takes features that are not simple; nil if all are
}

// kept is a field whose text is stored in addition to its other use.
type kept struct {
	field int
	text  []byte // of the last row; nil if there is no such field
}

// feature says how the field of a feature is read.
type feature struct {
	slot   int32   // index in the row
	simple bool    // the field is a plain number
	centre float64 // number to subtract from it
}

var (
	_ rowio.Reader = (*reader)(nil)
	_ rowio.Extras = (*reader)(nil)
)

// settings say how records become rows.
type settings struct {
	layout Layout
	path   [][]byte  // values of the last fields, which are in the path of the file
	keys   []int     // fields whose texts Key returns
	centre []float64 // subtracted from the features in float64; nil subtracts nothing. Not used with a decoder
	// decoder, unless nil, decodes the features; the columns of its table are the features of the layout.
	decoder *schema.Decoder
	// describe, unless nil, gets all fields of Layout.Described. Rows are then empty.
	describe schema.Sink
	// taps, unless nil, puts taps in front of fields, as dataset.Input.Taps does.
	taps func(columns []string, sinks []dataset.FieldSink) (*dataset.TestFilter, []*dataset.Tap, error)
}

// newReader returns a reader of the rows in records, which must have the
// options Quote and the layout's Comma. It panics if the layout is not valid.
//
// If the layout has a header and the shard starts at the beginning of the file, its
// first record is the header. A file must not be cut before its header.
func newReader(records *lines.Reader, s settings) (*reader, error) {
	l := s.layout
	if l.Validate() != nil {
		panic("csvio: invalid layout")
	}
	r := &reader{lines: records, layout: l, path: s.path, uses: make([]int32, len(l.Columns)),
		rowNumbers: rowNumbers{features: make([]feature, len(l.Features)), width: len(l.Features)}}
	for f := range r.uses {
		r.uses[f] = useNone
	}
	for i, f := range l.Features {
		r.uses[f] = int32(i)
		r.features[i] = feature{slot: int32(i), simple: true}
	}
	for i, f := range l.Labels() {
		r.uses[f] = useLabel - int32(i)
		r.labels = append(r.labels, []byte{})
	}
	if f := l.Role(schema.Weight); f >= 0 {
		r.uses[f], r.weight = useWeight, []byte{}
	}
	if f := l.Role(schema.ID); f >= 0 {
		r.id = r.keep(f)
	}
	for _, f := range s.keys {
		r.keys = append(r.keys, r.keep(f))
	}
	switch {
	case s.describe != nil:
		r.describe(s.describe)
	case s.decoder != nil:
		r.decode(s.decoder)
	default:
		for i, c := range s.centre {
			r.features[i].centre = c
		}
	}
	if s.taps == nil {
		return r, nil
	}
	return r, r.tap(s)
}

// keep makes the reader store the text of a field. It sees the features before decode does.
func (r *reader) keep(f int) kept {
	switch use := r.uses[f]; {
	case use == useNone:
		r.uses[f] = useText
	case use >= 0:
		r.features[use].simple = false // the text would be passed over
	}
	return kept{f, []byte{}}
}

// decode makes d decode the features, except plain numbers whose text is not stored.
func (r *reader) decode(d *schema.Decoder) {
	r.sink, r.width = d, d.Width()
	for i := range r.features {
		v := &r.features[i]
		v.slot = int32(d.Slot(i))
		centre, simple := d.Simple(i)
		v.centre, v.simple = centre, simple && v.simple
	}
}

// tap puts taps in front of the fields that decide about the part of the input, and of described fields.
func (r *reader) tap(s settings) (err error) {
	var sinks []dataset.FieldSink
	if s.describe != nil {
		sinks = make([]dataset.FieldSink, len(r.uses))
		for i, f := range r.layout.Described() {
			sinks[f] = dataset.FieldSink{Sink: s.describe, Column: i}
		}
	}
	r.part, r.taps, err = s.taps(r.layout.Columns, sinks)
	for f, t := range r.taps {
		switch {
		case t == nil:
		case r.uses[f] == useNone:
			r.uses[f] = useText
		case r.uses[f] >= 0 && r.part.Key != nil:
			r.features[r.uses[f]].simple = false // the text would be passed over
		}
	}
	return err
}

// describe makes rows empty and passes all fields of Layout.Described to the sink.
func (r *reader) describe(s schema.Sink) {
	fields := r.layout.Described()
	r.sink, r.width, r.features = s, 0, make([]feature, len(fields))
	for i, f := range fields {
		r.uses[f] = int32(i)
	}
}

// Target returns the text of a label of the last row, nil if the layout has none.
func (r *reader) Target(i int) []byte {
	if len(r.labels) == 0 {
		return nil
	}
	return r.labels[i]
}

// Weight returns the text of the last row's weight, nil if the layout has none.
func (r *reader) Weight() []byte { return r.weight }

// ID returns the text of the last row's identifier, nil if the layout has none.
func (r *reader) ID() []byte { return r.id.text }

// Key returns text i of those that the last row's key is made of.
func (r *reader) Key(i int) []byte { return r.keys[i].text }

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

// OtherLines counts the records that repeat the header, as joined files have them, and finds the first quoted field
// that seems to hold records.
func (r *reader) OtherLines() dataset.OtherLines { return r.others }

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
	x = slices.Grow(x, r.width)[:base+r.width]
	row := x[base:]
	comma := r.layout.Comma
	r.weight = r.weight[:0]
	r.part.Reset()
	at := 0 // where the field begins
	for f, use := range r.uses[:len(r.layout.Stored())] {
		if at > len(rec) {
			return x[:base], nil, r.bad(rec, f, "")
		}
		if use >= 0 && r.features[use].simple {
			// A bare number up to the comma, which nearly all fields are.
			to := &r.features[use]
			v, n := lines.NumberPrefix(rec[at:])
			if end := at + n; n > 0 && (end == len(rec) || rec[end] == comma) && exact.Finite(v) {
				plain := v
				if to.centre != 0 {
					v = lines.NumberMinus(rec[at:end], to.centre)
				}
				row[to.slot] = v
				if r.taps != nil && r.taps[f] != nil {
					r.taps[f].Number(plain)
				}
				at = end + 1
				continue
			}
		} else if use == useNone {
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
			return x[:base], nil, bad
		}
	}
	if at <= len(rec) {
		return x[:base], nil, r.bad(rec, 0, "")
	}
	for i, text := range r.path {
		if bad := r.put(row, rec, len(r.uses)-len(r.path)+i, text); bad != nil {
			return x[:base], nil, bad
		}
	}
	return x, r.Target(0), nil
}

// put stores the text of field f of a record, or returns why the record cannot be used.
func (r *reader) put(row []float32, rec []byte, f int, whole []byte) *rowio.BadRow {
	b := trim(whole, r.layout.Comma)
	if f == r.id.field && r.id.text != nil {
		r.id.text = append(r.id.text[:0], whole...)
	}
	for i := range r.keys {
		if k := &r.keys[i]; k.field == f {
			k.text = append(k.text[:0], b...)
		}
	}
	use := r.uses[f]
	if use != useNone && !utf8.Valid(b) {
		return r.bad(rec, f, notUTF8(b))
	}
	if r.taps != nil && r.taps[f] != nil {
		if r.taps[f].Text(row, 0, b); r.taps[f].Later() {
			return nil
		}
	}
	switch {
	case use >= 0 && r.sink != nil:
		if why := r.sink.Text(row, int(use), b); why != "" {
			return r.bad(rec, f, why)
		}
	case use >= 0:
		v, ok := lines.ParseNumber(b)
		if !ok || !exact.Finite(v) {
			bad := r.bad(rec, f, notNumber(b))
			bad.NotNumber = true
			return bad
		}
		to := &r.features[use]
		if to.centre != 0 {
			v = lines.NumberMinus(b, to.centre)
		}
		row[to.slot] = v
	case use == useWeight:
		r.weight = append(r.weight[:0], b...)
	case use <= useLabel:
		to := &r.labels[useLabel-use]
		*to = append((*to)[:0], b...)
	}
	return nil
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
	if f < want || broken == "" && f < len(r.uses) {
		reason = dataset.InColumn(r.layout.Columns[f], reason)
	}
	e.Reason = reason
	return e
}

package jsonlio

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
)

// Source gives the texts of objects one by one, such as the lines of a file.
type Source interface {
	// Next returns the next text, valid until the next call; io.EOF after the last; or a *rowio.BadRow, after
	// which there may be others.
	Next() ([]byte, error)
	// Line returns the number of the last one.
	Line() int64
}

// reader reads the rows of one shard.
type reader struct {
	*dataset.Record
	lines    Source
	layout   *layout
	complete bool           // an object that lacks a used column is not a row
	index    map[string]int // of each column
	lists    map[string]listOf
	scan     scanner
	member   member
	decimal  []byte // of each field that is text of a number without a point; nil if all have one
	number   []byte
}

// listOf says that a key has lists of n numbers, some of which are used, in the columns from a field on.
type listOf struct {
	field, n int
	used     bool
}

var _ rowio.Reader = (*reader)(nil)

// NewReader returns a reader of objects that are not in a file, for an Input of dataset.Dataset.InMemory. The
// dataset is one of JSON lines. Unlike an object of a file, each must have all columns that are used,
// because no other object shows that a key is misspelt.
func NewReader(objects Source, in *dataset.Input) (rowio.Reader, error) {
	r, err := newReader(objects, in, in.Data.Schema.Layout.(*layout))
	if err != nil {
		return nil, err
	}
	r.complete = true
	return r, nil
}

// newReader returns a reader of a text with the columns of a layout, indexed by their names in the file.
func newReader(text Source, in *dataset.Input, l *layout) (*reader, error) {
	fields, err := dataset.NewFields(in, &l.TableLayout)
	if err != nil {
		return nil, err
	}
	r := &reader{lines: text, layout: l, index: make(map[string]int, len(l.Columns)), lists: map[string]listOf{}}
	r.Record = dataset.NewRecord(fields)
	for f, name := range l.Stored() {
		r.index[name] = f
		if list, first := strings.CutSuffix(name, dataset.ElementName("", 0)); first {
			n := l.ListAt(f, list)
			r.lists[list] = listOf{f, n, fields.Reads(f, n)}
		}
	}
	if t := in.Data.Schema.Table; t != nil && t.Decimal != 0 && t.Decimal != '.' {
		r.decimal = make([]byte, len(l.Columns))
		for c, f := range l.Features {
			if t.Columns[c].Type == schema.Number {
				r.decimal[f] = t.Decimal
			}
		}
	}
	return r, nil
}

// Line returns the line of the last row.
func (r *reader) Line() int64 { return r.lines.Line() }

// Append implements rowio.Reader.
func (r *reader) Append(x []float32) ([]float32, []byte, error) {
	line, err := r.lines.Next()
	if err != nil {
		return x, nil, err
	}
	line = bytes.TrimPrefix(line, []byte("\ufeff")) // of a file that was appended to another
	r.Begin(x)
	if reason := r.object(line); reason != "" {
		return x, nil, &rowio.BadRow{Line: r.lines.Line(), Reason: reason}
	}
	if r.complete {
		r.Need("is not in the object; null is a missing value")
	}
	return r.End(x, r.lines.Line())
}

// object stores the members of an object, and returns the reason why the line cannot be read.
func (r *reader) object(line []byte) (reason string) {
	if reason := r.scan.open(line); reason != "" {
		return reason
	}
	columns := r.layout.Stored()
	for f := 0; ; f++ {
		more, reason := r.scan.next(&r.member)
		if !more || reason != "" {
			return reason
		}
		if f >= len(columns) || columns[f] != string(r.member.key) { // it is not the next column
			var known bool
			f, known = r.index[string(r.member.key)]
			if !known {
				if list, ok := r.lists[string(r.member.key)]; ok {
					if list.used {
						r.elements(list)
					}
					f = list.field + list.n - 1
					continue
				}
				if r.layout.Others {
					f = -1
					continue
				}
				return fmt.Sprintf("has the key %s, which is not at the beginning of a file (its first %d bytes); choose the "+
					"columns by name to ignore others",
					dataset.Quote(string(r.member.key)), dataset.HeadBytes)
			}
		}
		if r.To[f].Sink != nil {
			r.value(f)
		}
	}
}

// elements stores the values of a list.
func (r *reader) elements(target listOf) {
	m := r.member
	switch m.kind {
	case null, list:
	default:
		r.Check(target.field, fmt.Sprintf("is not a list of %d %s", target.n, dataset.Plural(target.n, "number")))
		return
	}
	items := scanner{line: m.text, at: 1}
	for k := range target.n {
		if m.kind == list && (k == m.n || !items.element(k, &r.member)) {
			break
		}
		if r.To[target.field+k].Sink != nil {
			r.value(target.field + k)
		}
	}
	if m.kind == list && m.n != target.n {
		r.Check(target.field, dataset.OtherLength(m.n, target.n))
	}
}

// value stores the value of a used column.
func (r *reader) value(f int) {
	to, row, ok := r.Field(f)
	reason := ""
	switch m := &r.member; {
	case !ok:
		reason = "occurs twice in the object"
	case m.kind >= list:
		reason = dataset.IsNested
	case m.kind == null:
		reason = to.Null(row)
	default:
		reason = dataset.NotUTF8(m.text)
		if reason != "" {
			reason += "; convert the file to UTF-8, for instance with iconv"
			break
		}
		reason = to.Text(row, r.written(f))
	}
	r.Check(f, reason)
}

// written returns the text of a value as in CSV: if the decimal separator is a comma, 1.5 becomes 1,5.
func (r *reader) written(f int) []byte {
	if r.member.kind != number || r.decimal == nil || r.decimal[f] == 0 {
		return r.member.text
	}
	r.number = append(r.number[:0], r.member.text...)
	if i := bytes.IndexByte(r.number, '.'); i >= 0 {
		r.number[i] = r.decimal[f]
	}
	return r.number
}

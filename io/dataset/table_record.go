package dataset

import (
	"slices"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
)

// Fields holds the sinks for the fields of a shard's records.
type Fields struct {
	To    []FieldSink // sink of each field
	Used  []int       // fields that are read, ascending
	Width int         // values of a row
	Plain bool        // rows are plain numbers: missing values and texts cannot be used

	Labels       []*Texts // texts of the labels; nil if they are not read
	Weights, IDs *Texts   // texts of the columns with these roles; nil if they are not read
	Keys         []*Texts // texts of the columns from which keys are made; nil if they are not read

	columns []string
	part    *TestFilter // nil if all rows are read
	Path    [][]byte    // values of the last fields, which are in the path of the file
}

// NewFields returns the sinks for the fields of a layout.
func NewFields(in *Input, l *TableLayout) (*Fields, error) {
	f := &Fields{To: make([]FieldSink, len(l.Columns)), columns: l.Columns, Path: l.PathTexts(in.File)}
	decoder, describe := in.Sinks()
	texts := func(at int, wanted bool) *Texts {
		if at < 0 || !wanted {
			return nil
		}
		t, shared := f.To[at].Sink.(*Texts)
		if !shared {
			t = &Texts{next: f.To[at]}
			f.To[at] = FieldSink{Sink: t}
		}
		return t
	}
	if describe != nil {
		for i, at := range l.Described() {
			f.To[at] = FieldSink{Sink: describe, Column: i}
		}
	} else {
		var sink schema.Sink = decoder
		if f.Plain = decoder == nil; f.Plain {
			sink, f.Width = newPlain(l, in.Data.Schema.Centre), len(l.Features)
		} else {
			f.Width = decoder.Width()
		}
		for i, at := range l.Features {
			f.To[at] = FieldSink{Sink: sink, Column: i}
		}
		if in.Labels {
			for _, at := range l.Labels() {
				f.Labels = append(f.Labels, texts(at, true))
			}
		}
		f.Weights = texts(l.Role(schema.Weight), in.Data.Weighted)
		f.IDs = texts(l.Role(schema.ID), in.IDs)
		if f.IDs != nil {
			f.IDs.null, f.To[l.Role(schema.ID)].whole = rowio.NoID, true
		}
		for _, at := range l.KeyFields(in.Data) {
			f.Keys = append(f.Keys, texts(at, true))
		}
	}
	if err := f.tap(in, describe != nil); err != nil {
		return nil, err
	}
	for at, to := range f.To[:len(l.Stored())] {
		if to.Sink != nil {
			f.Used = append(f.Used, at)
		}
	}
	return f, nil
}

// StartRow says which row of a batch is read next, for its TestFilter.
func (f *Fields) StartRow(i int) {
	if f.part != nil {
		f.part.At = i
	}
}

// SetPath stores the values from the path of the file in a row. It calls bad for a value that cannot be used.
func (f *Fields) SetPath(row []float32, bad func(field int, reason string)) {
	for i, text := range f.Path {
		if at := len(f.To) - len(f.Path) + i; f.To[at].Sink != nil {
			bad(at, f.To[at].Text(row, text))
		}
	}
}

// ResetTexts forgets the stored texts of labels and other roles, and the fields that Taps have stored.
func (f *Fields) ResetTexts() {
	f.part.Reset()
	for _, t := range slices.Concat(f.Labels, f.Keys, []*Texts{f.Weights, f.IDs}) {
		if t != nil {
			t.Reset()
		}
	}
}

// Label returns text i of a label column, or nil if it is not read.
func (f *Fields) Label(column, i int) []byte {
	if len(f.Labels) == 0 {
		return nil
	}
	return f.Labels[column].At(i)
}

// Bad returns an error for a record in which a field cannot be used.
func (f *Fields) Bad(line int64, field int, reason string) *rowio.BadRow {
	return &rowio.BadRow{Line: line, Column: field + 1, Reason: InColumn(f.columns[field], reason), NotNumber: f.Plain}
}

// Record takes the fields of one record after another, in any order. It implements rowio.Extras.
type Record struct {
	*Fields
	marks  []int64   // for each field, the number of the last record that had it
	number int64     // of this record
	x      []float32 // with the record's values at its end
	row    []float32 // these values
	field  int       // field of the first reason
	reason string
}

var _ rowio.Extras = (*Record)(nil)

// NewRecord returns a Record for the fields.
func NewRecord(f *Fields) *Record { return &Record{Fields: f, marks: make([]int64, len(f.To))} }

// Begin starts a record.
func (r *Record) Begin(x []float32) {
	r.number++
	r.reason = ""
	r.x = slices.Grow(x, r.Width)[:len(x)+r.Width]
	r.row = r.x[len(x):]
	r.ResetTexts()
}

// Field starts a field that is used, and returns its sink and the row to pass to the sink. It is
// not ok if the record has already had this field.
func (r *Record) Field(field int) (to *FieldSink, row []float32, ok bool) {
	ok = r.marks[field] != r.number
	r.marks[field] = r.number
	return &r.To[field], r.row, ok
}

// Check records the reason why the record cannot be used, unless it is empty. The first reason counts.
func (r *Record) Check(field int, reason string) {
	if reason != "" && r.reason == "" {
		r.field, r.reason = field, reason
	}
}

// Need records the reason for the first used field that the record lacks, if there is one.
func (r *Record) Need(reason string) {
	for _, field := range r.Used {
		if r.marks[field] != r.number {
			r.Check(field, reason)
		}
	}
}

// End ends the record and returns the results of rowio.Reader.Append for the x of Begin. A used
// field that the record lacks is a missing value.
func (r *Record) End(x []float32, line int64) ([]float32, []byte, error) {
	for _, field := range r.Used {
		if r.marks[field] != r.number {
			r.Check(field, r.To[field].Null(r.row))
		}
	}
	r.SetPath(r.row, r.Check)
	if r.reason != "" {
		return x, nil, r.Bad(line, r.field, r.reason)
	}
	return r.x, r.Label(0, 0), nil
}

// Target returns the text of a label of the record.
func (r *Record) Target(i int) []byte { return r.Label(i, 0) }

// Weight returns the text of the record's weight.
func (r *Record) Weight() []byte { return r.Weights.At(0) }

// Key returns text i of the texts from which the key of the record is made.
func (r *Record) Key(i int) []byte { return r.Keys[i].Key(0) }

// ID returns the text of the record's identifier.
func (r *Record) ID() []byte { return r.IDs.At(0) }

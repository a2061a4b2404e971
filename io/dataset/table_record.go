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
	Path  [][]byte    // values of the last fields, which are in the path of the file

	columns []string
	filter  *testFilter // nil if all rows are read
	last    int         // index in the batch of the last row
	roleTexts
}

// roleTexts holds the texts of columns with a role; nil if they are not read.
type roleTexts struct {
	all, labels, keys []*storedTexts // keys are made of several columns
	weights, ids      *storedTexts
}

// NewFields returns the sinks for the fields of a layout. If the input is described, these sinks get all fields that
// TableLayout.Described lists, and rows are empty.
func NewFields(in *Input, l *TableLayout) (*Fields, error) {
	f := &Fields{To: make([]FieldSink, len(l.Columns)), columns: l.Columns, Path: l.PathTexts(in.File)}
	in.fields = f
	for at := range f.To {
		f.To[at].tabs = in.Tabs
	}
	if sink := in.request.Describe; sink != nil {
		for i, at := range l.Described() {
			f.To[at].Sink, f.To[at].Column = sink, i
		}
	} else {
		f.decode(in, l)
	}
	if err := f.tap(in); err != nil {
		return nil, err
	}
	for at, to := range f.To[:len(l.Stored())] {
		if to.Sink != nil {
			f.Used = append(f.Used, at)
		}
	}
	return f, nil
}

// decode makes sinks that decode the features and store the texts of other columns.
func (f *Fields) decode(in *Input, l *TableLayout) {
	var sink schema.Sink
	if s := &in.Data.Schema; s.Table != nil {
		in.decoder = schema.NewDecoder(s.Table, s.Centre)
		sink, f.Width = in.decoder, in.decoder.Width()
	} else {
		sink, f.Width, f.Plain = newPlain(l, s.Centre), len(l.Features), true
	}
	for i, at := range l.Features {
		f.To[at].Sink, f.To[at].Column = sink, i
	}
	if in.Labels {
		f.labels = f.store(l.Labels()...)
	}
	if at := l.Role(schema.Weight); at >= 0 && in.Data.Weighted {
		f.weights = f.store(at)[0]
	}
	if at := l.Role(schema.ID); at >= 0 && in.IDs {
		f.ids = f.store(at)[0]
		f.ids.null, f.To[at].whole = rowio.NoID, true
	}
	f.keys = f.store(l.KeyFields(in.Data)...)
}

// store stores the texts of fields.
func (f *Fields) store(fields ...int) (texts []*storedTexts) {
	for _, at := range fields {
		t, shared := f.To[at].Sink.(*storedTexts)
		if !shared {
			t = &storedTexts{next: f.To[at]}
			f.To[at] = FieldSink{Sink: t, tabs: t.next.tabs}
			f.all = append(f.all, t)
		}
		texts = append(texts, t)
	}
	return texts
}

// StartRow begins row i of a batch.
func (f *Fields) StartRow(i int) {
	f.last = i
	if f.filter != nil {
		f.filter.at = i
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
	f.filter.reset()
	for _, t := range f.all {
		t.text, t.ends = t.text[:0], t.ends[:0]
	}
}

// ReadsIDs reports whether rows have ids, which are needed of rows that cannot be used, too.
func (f *Fields) ReadsIDs() bool { return f.ids != nil }

// Target returns the text of label i of the last row, valid until the next; nil if labels are not read.
func (f *Fields) Target(i int) []byte {
	if len(f.labels) == 0 {
		return nil
	}
	return f.labels[i].at(f.last)
}

// key returns text i of the texts from which the key of the last row is made.
func (f *Fields) key(i int) []byte { return f.keys[i].key(f.last) }

// Bad returns an error for a record in which a field cannot be used.
func (f *Fields) Bad(line int64, field int, reason string) *rowio.BadRow {
	return &rowio.BadRow{Line: line, Column: field + 1, Reason: InColumn(f.columns[field], reason), NotNumber: f.Plain}
}

// Record takes the fields of one record after another, in any order.
type Record struct {
	*Fields
	marks  []int64   // for each field, the number of the last record that had it
	number int64     // of this record
	x      []float32 // with the record's values at its end
	row    []float32 // these values
	field  int       // field of the first reason
	reason string
}

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
	return r.x, r.Target(0), nil
}

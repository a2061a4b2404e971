package records

import (
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
)

// Options says what to read of rows in addition to the columns of a schema.
type Options struct {
	// Label converts labels; nil leaves them unread. LabelColumns are the names of their columns:
	// one, or the columns of several targets.
	Label        dataset.Label
	LabelColumns []string
	// Weighted says that rows have weights, in the column WeightColumn.
	Weighted     bool
	WeightColumn string
	// Missing turns missing plain numbers into NaN. Otherwise rows that lack one cannot be used.
	Missing bool
}

// Reader reads rows to blocks. It is not safe for concurrent use.
type Reader struct {
	record  *dataset.Record
	in      *dataset.Input
	options Options
	columns []string // of the rows; nil if they have no names
	labels  []int    // fields of the labels in the record; none if they are not read
	weight  int      // field of the weight, −1 if it is not read
	types   map[reflect.Type]*binding

	items  []reflect.Value
	at     int // items that are read
	reject func(item int, reason string)
}

// New returns a Reader of rows with the columns of a schema.
func New(s *dataset.Schema, o Options) *Reader {
	r := &Reader{options: o, columns: s.Columns, weight: -1, types: map[reflect.Type]*binding{}}
	d := &dataset.Dataset{Schema: *s, Labeled: o.Label != nil, Weighted: o.Weighted}
	if o.Missing && s.Table == nil && len(s.Columns) > 0 {
		d.Schema.Table = numbers(s.Columns)
	}
	if t := s.Table; t != nil {
		r.columns = nil
		for _, c := range t.Columns {
			r.columns = append(r.columns, c.Name)
		}
	}
	l := &dataset.TableLayout{Columns: slices.Clone(r.columns), Label: -1}
	for i := len(l.Columns); i < s.Dim && r.columns == nil; i++ {
		l.Columns = append(l.Columns, fmt.Sprintf("c%d", i+1))
	}
	for i := range l.Columns {
		l.Features = append(l.Features, i)
	}
	add := func(name string) int {
		l.Columns = append(l.Columns, name)
		return len(l.Columns) - 1
	}
	if o.Label != nil {
		for _, name := range o.LabelColumns {
			r.labels = append(r.labels, add(name))
		}
		l.Label = r.labels[0]
		if len(r.labels) > 1 {
			l.Targets, d.Targets = r.labels, o.LabelColumns
		}
	}
	if o.Weighted {
		r.weight = add(o.WeightColumn)
		l.Roles = map[schema.Role]int{schema.Weight: r.weight}
	}
	r.in = d.InMemory(dataset.Request{Label: o.Label, Mode: dataset.SkipRow, Lines: true,
		Reject: func(line int64, reason string) {
			r.reject(int(line)-1, reason)
		}})
	fields, _ := dataset.NewFields(r.in, l) // without a Part, there is no error
	r.record = dataset.NewRecord(fields)
	return r
}

// numbers returns the types of columns of numbers that may be missing.
func numbers(names []string) *schema.Table {
	t := &schema.Table{Rules: schema.Rules{Missing: schema.DefaultMissing}}
	for _, name := range names {
		t.Columns = append(t.Columns, schema.Column{Name: name, Type: schema.Number})
	}
	return t
}

// Read fills b with the rows of items, at most rowio.RowsPerBlock of them; it does not read the
// others. The item of row i is b.Lines[i]−1. Read calls reject for each item that cannot be used. It
// returns an error if the type of an item lacks a column.
func (r *Reader) Read(b *rowio.Block, items []reflect.Value, reject func(item int, reason string)) error {
	for _, item := range items {
		if _, err := r.binding(item.Type()); err != nil {
			return err
		}
	}
	r.items, r.at, r.reject = items, 0, reject
	r.in.Rows(source{r.record, r}).Next(b)
	r.items = nil
	return nil
}

// source is the rowio.Reader of the items.
type source struct {
	*dataset.Record
	*Reader
}

// Line returns the number of the last item, from 1.
func (s source) Line() int64 { return int64(s.at) }

// Append appends the values of the next item.
func (s source) Append(x []float32) ([]float32, []byte, error) {
	if s.at == len(s.items) {
		return x, nil, io.EOF
	}
	item := s.items[s.at]
	s.at++
	s.Begin(x)
	var reason string
	if item.Type() == rowType {
		row := item.Interface().(Row)
		reason = s.row(&row)
	} else {
		reason = s.types[item.Type()].put(s.Reader, item)
	}
	if reason != "" {
		return x, nil, &rowio.BadRow{Line: s.Line(), Reason: reason}
	}
	return s.End(x, s.Line())
}

// row takes a Row, and returns the reason why it cannot.
func (r *Reader) row(row *Row) (reason string) {
	if len(row.Values) > 0 {
		if reason := r.fits(len(row.Values)); reason != "" {
			return reason
		}
		for j, v := range row.Values {
			r.float(j, v)
		}
	} else {
		for j, name := range r.columns {
			if !r.named(j, name, row) {
				return dataset.InColumn(name, "is not in the row; a missing value is NaN, or an empty text")
			}
		}
		if r.columns == nil {
			return "has values by name, but the columns of the model have no names; give whole rows"
		}
	}
	for i, field := range r.labels {
		switch name := r.options.LabelColumns[i]; {
		case len(r.labels) == 1 && row.Label != "":
			r.text(field, row.Label)
		case !r.named(field, name, row):
			r.text(field, "") // there is none
		}
	}
	if r.weight >= 0 && !r.named(r.weight, r.options.WeightColumn, row) {
		r.float(r.weight, row.Weight)
	}
	return ""
}

// fits returns the reason why rows cannot have n values.
func (r *Reader) fits(n int) string {
	want := len(r.record.To) - len(r.labels)
	if r.weight >= 0 {
		want--
	}
	if n != want {
		return fmt.Sprintf("has %d values, want %d", n, want)
	}
	return ""
}

// named takes the value that a row has by name, if it has one.
func (r *Reader) named(field int, name string, row *Row) bool {
	if v, ok := row.Numbers[name]; ok {
		r.float(field, v)
		return true
	}
	text, ok := row.Texts[name]
	if ok {
		r.text(field, text)
	}
	return ok
}

func (r *Reader) float(field int, v float64) {
	to, row, _ := r.record.Field(field)
	r.record.Check(field, to.Float(row, v))
}

func (r *Reader) text(field int, text string) {
	to, row, _ := r.record.Field(field)
	r.record.Check(field, to.Text(row, []byte(text)))
}

// binding is where the fields of a struct type go.
type binding struct {
	fields []bound
	values []int // index of the field with all columns; nil if there is none
}

type bound struct {
	index []int // of the field in the struct
	field int   // of the record
}

// binding returns the binding of a type, or the error of a type that lacks a column.
func (r *Reader) binding(t reflect.Type) (*binding, error) {
	if b, ok := r.types[t]; ok {
		return b, nil
	}
	b := new(binding)
	d, err := TypeOf(t)
	if err != nil {
		return nil, err
	}
	if t != rowType {
		if b, err = r.bind(d); err != nil {
			return nil, err
		}
	}
	r.types[t] = b
	return b, nil
}

// bind finds the fields of a type of struct for the columns, labels and weight of the reader: by role where a tag
// gives one, otherwise by name. A type may have one slice of values instead of fields for columns.
func (r *Reader) bind(d *Type) (*binding, error) {
	b := &binding{values: d.roles[roleValues]}
	add := func(index []int, field int, column string) error {
		if f := d.of.FieldByIndex(index); !scalar(f.Type) {
			return fmt.Errorf("records: %s.%s, the column %q, is of the type %s, which cannot be a column", d.of, f.Name,
				column, f.Type)
		}
		b.fields = append(b.fields, bound{index, field})
		return nil
	}
	named := func(what, column string, field int) error {
		index, ok := d.named[column]
		if !ok {
			return fmt.Errorf("records: %s has no field for the %s %q%s; tag one with `bochner:%[3]q`", d.of, what, column,
				option.DidYouMean(column, d.fields))
		}
		return add(index, field, column)
	}
	if b.values == nil {
		if r.columns == nil {
			return nil, fmt.Errorf("records: the columns of the model have no names: give %s a field []float32 or []float64 "+
				"with the tag `bochner:\",values\"`", d.of)
		}
		for j, name := range r.columns {
			if err := named("column", name, j); err != nil {
				return nil, err
			}
		}
	}
	take := func(role, column string, field int) error {
		index, ok := d.roles[role]
		if !ok {
			index, ok = d.named[column]
		}
		if !ok {
			return fmt.Errorf("records: %s has no field for the %s, the column %q; tag one with `bochner:\",%[2]s\"`", d.of,
				role, column)
		}
		return add(index, field, column)
	}
	if len(r.labels) == 1 {
		if err := take(roleLabel, r.options.LabelColumns[0], r.labels[0]); err != nil {
			return nil, err
		}
	} else {
		for i, column := range r.options.LabelColumns[:len(r.labels)] {
			if err := named("target", column, r.labels[i]); err != nil {
				return nil, err
			}
		}
	}
	if r.weight >= 0 {
		if err := take(roleWeight, r.options.WeightColumn, r.weight); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// put takes the fields of a struct, and returns the reason why it cannot.
func (b *binding) put(r *Reader, row reflect.Value) (reason string) {
	if b.values != nil {
		values := row.FieldByIndex(b.values)
		if reason := r.fits(values.Len()); reason != "" {
			return reason
		}
		for j := range values.Len() {
			r.put(j, values.Index(j))
		}
	}
	for _, f := range b.fields {
		r.put(f.field, row.FieldByIndex(f.index))
	}
	return ""
}

// put takes the value of a field, of a type that is scalar.
func (r *Reader) put(field int, v reflect.Value) {
	to, row, _ := r.record.Field(field)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			r.record.Check(field, to.Null(row))
			return
		}
		v = v.Elem()
	}
	var reason string
	switch v.Kind() {
	case reflect.String:
		reason = to.Text(row, []byte(v.String()))
	case reflect.Bool:
		reason = to.Bool(row, v.Bool())
	case reflect.Float32:
		reason = to.Float32(row, float32(v.Float()))
	case reflect.Float64:
		reason = to.Float(row, v.Float())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		reason = to.Uint(row, v.Uint())
	default:
		reason = to.Int(row, v.Int())
	}
	r.record.Check(field, reason)
}

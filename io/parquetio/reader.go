package parquetio

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/parquetio/meta"
	"github.com/bochner-ml/bochner/io/rowio"
)

// reader reads the rows of some row groups, a batch at a time: column by column.
type reader struct {
	*dataset.Fields
	source  *source
	columns []*columnReader
	lists   map[int]*listReader // of the columns that are lists, by the index of their chunks
	groups  []meta.Group        // that are left
	left    int64               // rows left in the first of them
	chunks  []*meta.Chunk

	batch []float32
	n, at int // rows of the batch; next one
	bad   map[int]*rowio.BadRow
	line  int64 // rows read
}

var _ rowio.Reader = (*reader)(nil)

// read opens a shard.
func read(ctx context.Context, in *dataset.Input) (rowio.Reader, error) {
	object := in.File.Object
	last, f, err := readTail(ctx, object, func(off, n int64) (io.Reader, error) {
		return in.Open(ctx, object, "", off, n)
	})
	if err != nil {
		return nil, err
	}
	layout := in.Layout().(*dataset.TableLayout)
	if err = f.expand(layout); err == nil {
		err = layout.Unchanged(f.names)
	}
	if err != nil {
		return nil, err
	}
	fields, err := dataset.NewFields(in, layout)
	if err != nil {
		return nil, err
	}
	r := &reader{Fields: fields, source: &source{ctx: ctx, object: object, last: last}, lists: map[int]*listReader{},
		bad: map[int]*rowio.BadRow{}}
	shared := new(buffers)
	for _, field := range r.Used {
		if err := r.addColumn(&f.columns[field], field, shared); err != nil {
			return nil, err
		}
	}
	if r.groups, err = f.between(in.Shard); err != nil {
		return nil, err
	}
	return r, r.begin()
}

// addColumn adds a column, or an element of a list, whose reader has the column of the first one that is used.
func (r *reader) addColumn(c *column, field int, shared *buffers) error {
	if l := r.lists[c.leaf]; l != nil {
		l.take(c, field, &r.To[field])
		return nil
	}
	put, err := c.putFunc()
	if err != nil {
		return err
	}
	one := columnReader{column: c, field: field, to: &r.To[field], put: put, scratch: shared,
		stream: stream{source: r.source}, pageValues: pageValues{decoders: new(decoders)}}
	if c.list == nil {
		one.dict.remember(one.to)
		one.number.set(&c.element, one.to)
		r.columns = append(r.columns, &one)
		return nil
	}
	n := c.list.n
	l := &listReader{columnReader: one, to: make([]*dataset.FieldSink, n), fields: make([]int, n),
		numbers: make([]number, n)}
	l.take(c, field, &r.To[field])
	r.lists[c.leaf] = l
	r.columns = append(r.columns, &l.columnReader)
	return nil
}

// between returns the row groups of a shard.
func (f *footer) between(s dataset.Shard) ([]meta.Group, error) {
	if s.End < 0 {
		return f.groups, nil
	}
	var out []meta.Group
	at := int64(0)
	for _, g := range f.groups {
		if at >= s.Start && at+g.Rows <= s.End {
			out = append(out, g)
			s.Start += g.Rows
		}
		at += g.Rows
	}
	if s.Start != s.End {
		return nil, errors.New("has other row groups than when it was opened; start again when no process writes to it")
	}
	return out, nil
}

// begin begins the next row group, if there is one.
func (r *reader) begin() error {
	for _, l := range r.lists {
		if err := l.done(); err != nil {
			return l.errorf("%w", err)
		}
	}
	if len(r.groups) == 0 {
		return nil
	}
	g := &r.groups[0]
	r.left = g.Rows
	r.chunks = r.chunks[:0]
	for _, c := range r.columns {
		ch := &g.Chunks[c.leaf]
		if ch.Values != g.Rows && c.list == nil || ch.Values < g.Rows {
			return c.errorf("is damaged: %d values in a row group of %d rows", ch.Values, g.Rows)
		}
		r.chunks = append(r.chunks, ch)
	}
	if err := r.source.begin(r.chunks); err != nil {
		return err
	}
	for i, c := range r.columns {
		if err := c.begin(r.chunks[i]); err != nil {
			return err
		}
	}
	return nil
}

// fill reads the next batch.
func (r *reader) fill() error {
	if r.left == 0 {
		if len(r.groups) > 0 {
			r.groups = r.groups[1:]
		}
		if err := r.begin(); err != nil {
			return err
		}
		if r.left == 0 {
			return io.EOF
		}
	}
	r.at, r.n = 0, int(min(r.left, int64(rowio.RowsPerBlock(r.Width))))
	clear(r.bad)
	r.ResetTexts()
	r.batch = slices.Grow(r.batch[:0], r.n*r.Width)[:r.n*r.Width]
	for _, c := range r.columns {
		read := c.read
		if l := r.lists[c.leaf]; l != nil {
			read = l.read
		}
		if err := read(r.batch, r.Width, r.n, r.reject); err != nil {
			return c.errorf("near row %d: %w", r.line+1, err)
		}
	}
	for i := range r.n {
		r.SetPath(r.batch[i*r.Width:(i+1)*r.Width], func(field int, reason string) {
			rejectFunc(r.reject).check(i, field, reason)
		})
	}
	r.left -= int64(r.n)
	return nil
}

// reject records the first reason why a row of the batch cannot be used.
func (r *reader) reject(row, field int, reason string) {
	if r.bad[row] == nil || r.bad[row].Column > field+1 {
		r.bad[row] = r.Bad(r.line+int64(row)+1, field, reason)
	}
}

// Append implements rowio.Reader.
func (r *reader) Append(x []float32) ([]float32, []byte, error) {
	if r.at == r.n {
		if err := r.fill(); err != nil {
			return x, nil, err
		}
	}
	i := r.at
	r.at++
	r.line++
	r.StartRow(i)
	if bad := r.bad[i]; bad != nil {
		return x, nil, bad
	}
	return append(x, r.batch[i*r.Width:(i+1)*r.Width]...), r.Target(0), nil
}

// Line returns the number of the last row, counted from the beginning of the shard.
func (r *reader) Line() int64 { return r.line }

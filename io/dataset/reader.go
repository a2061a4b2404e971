package dataset

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/storage"
)

// Label converts a label's text to the value in a block's Y, or returns the reason why
// the row cannot be used.
type Label func(token []byte) (y float64, reason string)

// Mode is what a Reader does with a row that cannot be used.
type Mode string

// The modes of a Reader.
const (
	Stop  Mode = "stop"  // stop at the row: no row may be set aside
	Aside Mode = "aside" // skip the row and count it
	Place Mode = "place" // replace the row by zeros and count it
)

// Reader reads the rows of one shard, block by block. Errors are recorded in its
// Report, so that every runner passes them to the driver in the same form.
type Reader struct {
	data   *Dataset
	source *Source // nil if no file was opened ahead
	name   string
	label  Label
	mode   Mode
	rows   rows.Reader // nil after the last row
	text   *lines.Reader
	first  int64 // lines or records before the shard
	lines  bool  // blocks get the lines of their rows
	wide   *row  // already read, but too long for the last block
	report Report
	closer []io.Closer
}

// row is a row with its label as a number.
type row struct {
	line int64
	x    []float32
	y    float64
}

// Read opens a shard. With a nil label, labels are not read. Errors are in the Report.
func (d *Dataset) Read(ctx context.Context, s Shard, label Label, mode Mode) *Reader {
	return d.ReadFrom(ctx, nil, s, label, mode)
}

// ReadFrom opens a shard whose files Ahead has opened.
func (d *Dataset) ReadFrom(ctx context.Context, source *Source, s Shard, label Label, mode Mode) *Reader {
	r := &Reader{data: d, source: source, name: d.Files[s.File].Name, label: label, mode: mode, first: s.Line}
	r.report.Shard = s
	r.report.Begin = s.Start
	if err := r.open(ctx, &d.Files[s.File], s); err != nil {
		r.fault(err)
	}
	return r
}

// KeepLines makes later blocks record the line, or record, of each row as counted by
// the reader: that of the file if the shard starts at its beginning.
func (r *Reader) KeepLines() { r.lines = true }

func (r *Reader) open(ctx context.Context, f *File, s Shard) error {
	format, err := lookup(r.data.Schema.Format)
	if err != nil {
		return err
	}
	r.rows, err = format.Read(ctx, &Input{Data: r.data, File: f, Shard: s, Labels: r.label != nil, reader: r})
	if err != nil {
		r.rows = nil // not an interface that holds a nil pointer
	}
	return err
}

// Next fills the block with the next rows, at most rows.Rows of its row length,
// and reports whether there are any. Y holds the labels unless the Reader has no Label.
func (r *Reader) Next(b *rows.Block) bool {
	b.Reset(r.data.Schema.Dim)
	b.Reserve()
	if w := r.wide; w != nil {
		r.wide = nil
		b.X = append(b.X, w.x...)
		r.use(b, 0, w.y, w.line)
	}
	for r.rows != nil && b.N < rows.Rows(b.D) {
		if !r.add(b) {
			break
		}
	}
	return b.N > 0
}

// add reads one row into the block and reports whether reading continues.
func (r *Reader) add(b *rows.Block) bool {
	from := len(b.X)
	x, token, err := r.rows.Append(b.X)
	var bad *rows.BadRow
	switch {
	case err == io.EOF:
		r.end()
		return false
	case errors.As(err, &bad):
		return r.bad(b, from, bad)
	case err != nil:
		r.fault(err)
		return false
	}
	var y float64
	if r.label != nil {
		var reason string
		if y, reason = r.label(token); reason != "" {
			return r.bad(b, from, &rows.BadRow{Line: r.rows.Line(), Reason: reason})
		}
	}
	if d := len(x) - from; b.N > 0 && d > b.D && b.N >= rows.Rows(d) {
		// All earlier rows would be padded to this length.
		r.wide = &row{r.rows.Line(), slices.Clone(x[from:]), y}
		b.X = x[:from]
		return false
	}
	b.X = x
	r.use(b, from, y, r.rows.Line())
	return true
}

// use makes the values in b.X from index from on a row of the block.
func (r *Reader) use(b *rows.Block, from int, y float64, line int64) {
	if r.label != nil {
		b.Y = append(b.Y, y)
	}
	if r.lines {
		b.Lines = append(b.Lines, r.first+line)
	}
	b.N++
	if d := len(b.X) - from; d != b.D {
		pad(b, from, d)
	}
	r.report.Rows++
}

// pad makes the rows of the block equally long after a row of d values: rows differ in
// length only while the dimension of the file is unknown, and missing values are zero.
func pad(b *rows.Block, from, d int) {
	if d < b.D {
		b.X = append(b.X, make([]float32, b.D-d)...)
		return
	}
	old := b.D
	b.D = d
	if n := b.N * d; n > cap(b.X) {
		// Grow so that slowly rising lengths do not allocate a block each time.
		b.X = append(make([]float32, 0, max(n, min(2*n, rows.Rows(d)*d))), b.X...)
	}
	b.X = b.X[:b.N*d]
	copy(b.X[(b.N-1)*d:], b.X[from:from+d])
	for i := b.N - 2; i >= 0; i-- {
		row := b.X[i*d : (i+1)*d]
		copy(row, b.X[i*old:(i+1)*old])
		clear(row[old:])
	}
}

// bad handles a row that cannot be used and reports whether reading continues.
func (r *Reader) bad(b *rows.Block, from int, bad *rows.BadRow) bool {
	b.X = b.X[:from]
	r.report.Bad++
	if len(r.report.SetAside) < maxListed {
		r.report.SetAside = append(r.report.SetAside, SetAside{File: r.name, Line: r.first + bad.Line, Column: bad.Column, Reason: bad.Reason})
	}
	switch r.mode {
	case Stop:
		r.report.Stopped = true
		r.end()
		return false
	case Place:
		b.X = append(b.X, make([]float32, b.D)...)
		b.Bad = append(b.Bad, b.N)
		b.N++
		if r.label != nil {
			b.Y = append(b.Y, 0)
		}
		if r.lines {
			b.Lines = append(b.Lines, r.first+bad.Line)
		}
	}
	return true
}

// end records how far reading came.
func (r *Reader) end() {
	switch {
	case r.text != nil:
		r.report.Begin, r.report.End, r.report.Lines = r.text.Begin(), r.text.Offset(), r.text.Lines()
		r.report.Blank = r.text.Blanks()
	default:
		r.report.Lines = r.report.Rows + r.report.Bad
		r.report.End = r.report.Begin + r.report.Lines
	}
	r.rows = nil
}

// fault records why reading cannot continue.
func (r *Reader) fault(err error) {
	var failed *storage.Error
	if errors.As(err, &failed) {
		r.report.Fault, r.report.Storage = err.Error(), !failed.Refused()
	} else {
		r.report.Fault = (&Error{r.data.Schema.Format, r.name, err}).Error()
	}
	r.rows = nil
}

// Report returns the report of the shard. It is complete when Next has returned false.
func (r *Reader) Report() Report { return r.report }

// Close closes the files.
func (r *Reader) Close() {
	for i := len(r.closer) - 1; i >= 0; i-- {
		r.closer[i].Close()
	}
}

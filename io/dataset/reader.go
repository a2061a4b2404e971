package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
)

// Label converts the text of a label to a value of rowio.Block.Y, or returns the reason why the row
// cannot be used. If rows have several labels, it is called for each.
type Label func(token []byte) (y float64, reason string)

// Mode is what a Reader does with a row that cannot be used.
type Mode string

// The modes of a Reader.
const (
	FailFast  Mode = "fail_fast"  // stop at the row: no row may be set aside
	SkipRow   Mode = "skip_row"   // set the row aside
	KeepPlace Mode = "keep_place" // set the row aside, with zeros in its place in the block
)

// Reader reads the rows of one shard, block by block. Errors are recorded in its
// Report, so that every runner passes them to the driver in the same form.
type Reader struct {
	Request
	data *Dataset
	name string
	*opened
	rows     rowio.Reader  // of the format; nil after the last row
	first    int64         // lines or records before the shard
	labels   []float64     // of the last row
	number   []byte        // scratch of plainNumber
	wide     *decodedRow   // a row already read, but too long for the last block
	ids      *idFilter     // nil unless Dataset.Only is set
	segments *segmentNames // nil unless rows have segments
	report   Report
}

// opened is what the reader of a format needs to read a shard, as an Input has opened it.
type opened struct {
	text    *lines.Reader   // nil unless the file is text
	decoder *schema.Decoder // nil for plain numbers
	filter  *testFilter     // nil if all rows are read
	fields  *Fields         // nil unless the format has columns
	closers []io.Closer
	Others  OtherLines // as the reader of a format has counted them
}

// Request chooses what to read of each row, and what to do with rows that cannot be used.
type Request struct {
	Label Label // converts labels; nil leaves them unread
	Mode  Mode
	Lines bool // store in rowio.Block.Lines the line, or record, of each row in its file
	IDs   bool // store in rowio.Block.IDs the identifiers, if the files have such a column
	// Reject, unless nil, is called with the line and the reason for each row that is set
	// aside, even for rows that the Report does not list.
	Reject func(line int64, reason string)
	// Describe, unless nil, takes all fields of formats with columns. Rows then have no values.
	Describe schema.Sink
}

// decodedRow has the values of a row, and what is stored next to them.
type decodedRow struct {
	line    int64
	x       []float32
	y       []float64
	weight  float64
	key     uint64
	segment string
}

// Read opens a shard. With a nil label, labels are not read. Errors are in the Report.
func (d *Dataset) Read(ctx context.Context, s Shard, label Label, mode Mode) *Reader {
	return d.ReadFrom(ctx, nil, s, Request{Label: label, Mode: mode})
}

// ReadFrom opens a shard whose files Ahead has opened. Lines are numbered from the beginning of
// the shard, or of the file if Shard.Line is known.
func (d *Dataset) ReadFrom(ctx context.Context, source *Source, s Shard, q Request) *Reader {
	ids := q.IDs || d.Only != nil
	in := &Input{Data: d, File: &d.Files[s.File], Shard: s, Labels: q.Label != nil, IDs: ids, request: q,
		source: source, opened: new(opened)}
	r := &Reader{Request: q, data: d, name: in.File.Name, opened: in.opened, first: s.Line,
		report: Report{Shard: s, Begin: s.Start}}
	if err := r.open(ctx, in); err != nil {
		r.setFault(err)
	}
	return r
}

// open opens the shard, and sets the rows and the filters that the dataset needs. After an error the rows are nil.
func (r *Reader) open(ctx context.Context, in *Input) error {
	format, err := lookup(r.data.Schema.Format)
	if err != nil {
		return err
	}
	read, err := format.Read(ctx, in)
	if err != nil {
		return err
	}
	if r.data.TestSplit != nil && r.filter == nil {
		r.filter = &testFilter{TestSplit: r.data.TestSplit}
		if len(r.filter.Columns) > 0 {
			return errNoHoldOut
		}
	}
	if only := r.data.Only; only != nil {
		ids, err := only.list(ctx)
		if err != nil {
			return err
		}
		if r.fields == nil {
			return errors.New("the format has no columns of ids")
		}
		r.ids = &idFilter{ids: ids}
	}
	keyed := r.data.Weighted || r.data.Key != nil || r.data.Segments != nil
	if keyed && r.Describe == nil && r.fields == nil {
		return errors.New("the format has no named columns, so rows cannot have weights, groups, folds, times or " +
			"segments; use CSV, Parquet, Avro or JSON lines")
	}
	if r.data.Segments != nil && r.Describe == nil {
		r.segments = newSegmentNames(r.data)
	}
	r.rows = read
	return nil
}

// Next fills the block with the next rows, at most rowio.RowsPerBlock of its row length,
// and reports whether there are any. Y holds the labels unless the Reader has no Label.
func (r *Reader) Next(b *rowio.Block) bool {
	dim := r.data.Schema.Dim
	if r.Describe != nil {
		dim = 0
	}
	b.Reset(dim)
	b.Reserve()
	if w := r.wide; w != nil {
		r.wide = nil
		b.X = append(b.X, w.x...)
		r.acceptRow(b, 0, *w)
	}
	for r.rows != nil && b.N < rowio.RowsPerBlock(b.D) {
		if !r.add(b) {
			break
		}
	}
	return b.N > 0
}

// add reads one row into the block and reports whether reading continues.
func (r *Reader) add(b *rowio.Block) bool {
	from := len(b.X)
	x, token, err := r.rows.Append(b.X)
	if err != nil {
		return r.handleReadError(b, from, err)
	}
	if !r.selected(x[from:]) {
		return r.countAndSetAside(b, from, unselected, nil)
	}
	row, o, reason := r.decodeRow(token)
	if o != usable {
		return r.countAndSetAside(b, from, o, &rowio.BadRow{Line: row.line, Reason: reason})
	}
	r.ids.use()
	if d := len(x) - from; b.N > 0 && d > b.D && b.N >= rowio.RowsPerBlock(d) {
		// All earlier rows would be padded to this length.
		wide := row // so that only such a row is allocated
		wide.x, wide.y = slices.Clone(x[from:]), slices.Clone(row.y)
		r.wide = &wide
		b.X = x[:from]
		return false
	}
	b.X = x
	r.acceptRow(b, from, row)
	return true
}

// selected reports whether Dataset.Only and Dataset.TestSplit select the last row, whose values are x. The fields of
// a selected row go on to the sinks that describe them.
func (r *Reader) selected(x []float32) bool {
	if r.ids != nil && !r.ids.locate(r.fields.ids.at(r.fields.last)) || r.filter != nil && !r.filter.takes(x) {
		return false
	}
	r.filter.forward(x)
	return true
}

// outcome is the count of RowCounts in which a row is.
type outcome int

const (
	usable outcome = iota
	unusable
	unlabeled
	weightless
	unselected
)

// decodeRow returns the line, weight, key, segment and labels of the last row. token is the text of the
// first label. The reason explains why the row is not usable.
func (r *Reader) decodeRow(token []byte) (row decodedRow, o outcome, reason string) {
	row = decodedRow{line: r.rows.Line(), weight: 1}
	if r.data.Weighted && r.Describe == nil {
		var weight []byte
		weight, reason = r.plainNumber(r.fields.weights.at(r.fields.last))
		if reason == "" {
			row.weight, reason = rowio.ParseWeight(weight)
		}
		if reason != "" {
			return row, unusable, reason
		}
		if row.weight == 0 && r.Mode != KeepPlace {
			return row, weightless, NoWeight
		}
	}
	if r.data.Key != nil && r.Describe == nil {
		row.key, reason = r.data.Key.RowKey(r.fields.key)
		if reason != "" {
			return row, unusable, reason
		}
	}
	if r.segments != nil {
		row.segment, reason = r.segments.name(r.fields.key)
		if reason != "" {
			return row, unusable, reason
		}
	}
	if r.Label != nil {
		o, reason = r.label(token)
		row.y = r.labels
	}
	return row, o, reason
}

// label converts the labels of the last row, the first of which is token. If one is missing or
// cannot be used, it returns the reason.
func (r *Reader) label(token []byte) (o outcome, reason string) {
	r.labels = r.labels[:0]
	for i := range max(1, len(r.data.Targets)) {
		if i > 0 {
			token = r.fields.Target(i)
		}
		token, reason = r.plainNumber(r.data.Schema.LabelText.clean(token))
		if reason != "" {
			return unusable, r.ofTarget(i, reason)
		}
		if token != nil && missing(token) {
			return unlabeled, r.ofTarget(i, NoLabel)
		}
		y, reason := r.Label(token)
		if reason != "" {
			return unusable, r.ofTarget(i, reason)
		}
		r.labels = append(r.labels, y)
	}
	return usable, ""
}

// plainNumber returns the text of a label or weight. A number with another decimal separator or with
// separated thousands becomes a plain one. The reason, unless empty, explains why the text cannot be used.
func (r *Reader) plainNumber(text []byte) (plain []byte, reason string) {
	if r.data.Schema.Numbers == nil || !r.data.Schema.Traits().Written {
		return text, ""
	}
	return r.data.Schema.Numbers.Number(&r.number, text)
}

// ofTarget adds the name of label i to a reason if rows have several labels.
func (r *Reader) ofTarget(i int, reason string) string {
	if len(r.data.Targets) == 0 {
		return reason
	}
	return fmt.Sprintf("%s (column %q)", reason, r.data.Targets[i])
}

// handleReadError handles an error of the rows and reports whether reading continues.
func (r *Reader) handleReadError(b *rowio.Block, from int, err error) bool {
	bad, ok := errors.AsType[*rowio.BadRow](err)
	switch {
	case err == io.EOF:
		r.end()
		return false
	case ok && (r.ids != nil || r.filter != nil && r.filter.Test):
		return r.countAndSetAside(b, from, unselected, bad)
	case ok:
		r.filter.forward(nil)
		return r.countAndSetAside(b, from, unusable, bad)
	}
	r.setFault(err)
	return false
}

// acceptRow makes a row of the values in b.X[from:].
func (r *Reader) acceptRow(b *rowio.Block, from int, row decodedRow) {
	r.appendRow(b, row)
	r.decoder.Use(b.X[from:])
	if d := len(b.X) - from; d != b.D {
		pad(b, from, d)
	}
	r.report.Rows++
}

// appendRow counts a row of the block and stores its label, line, weight, key, segment and id.
func (r *Reader) appendRow(b *rowio.Block, row decodedRow) {
	b.N++
	if r.Label != nil {
		b.Y = append(b.Y, row.y...)
	}
	if r.data.Weighted && r.Describe == nil {
		b.Weights = append(b.Weights, row.weight)
	}
	if r.data.Key != nil && r.Describe == nil {
		b.Keys = append(b.Keys, row.key)
	}
	if r.segments != nil {
		b.Segments = append(b.Segments, row.segment)
	}
	if r.Lines {
		b.Lines = append(b.Lines, r.first+row.line)
	}
	if r.IDs && r.fields != nil {
		if id := r.fields.ids.at(r.fields.last); id != nil {
			b.IDs = append(b.IDs, string(id))
		}
	}
}

// pad makes the rows of the block equally long after a row of d values was added. Rows
// differ in length only while the dimension of the file is unknown; missing values are zero.
func pad(b *rowio.Block, from, d int) {
	if d < b.D {
		b.X = append(b.X, make([]float32, b.D-d)...)
		return
	}
	old := b.D
	b.D = d
	if n := b.N * d; n > cap(b.X) {
		// Grow so that slowly rising lengths do not allocate a block each time.
		b.X = append(make([]float32, 0, max(n, min(2*n, rowio.RowsPerBlock(d)*d))), b.X...)
	}
	b.X = b.X[:b.N*d]
	copy(b.X[(b.N-1)*d:], b.X[from:from+d])
	for i := b.N - 2; i >= 0; i-- {
		row := b.X[i*d : (i+1)*d]
		copy(row, b.X[i*old:(i+1)*old])
		clear(row[old:])
	}
}

// countAndSetAside takes a row out of the block and counts it, and reports whether reading continues.
func (r *Reader) countAndSetAside(b *rowio.Block, from int, o outcome, bad *rowio.BadRow) bool {
	b.X = b.X[:from]
	switch o {
	case unselected:
		r.report.Unselected++
		return true
	case weightless:
		r.report.Weightless++
		if r.Reject != nil {
			r.Reject(r.first+bad.Line, bad.Reason)
		}
		return true
	case unlabeled:
		r.report.Unlabeled++
	case unusable:
		r.report.Bad++
		r.report.NotNumbers = r.report.NotNumbers || bad.NotNumber
	}
	r.setAside(b, bad)
	if o == unusable && r.Mode == FailFast {
		r.report.Stopped = true
		r.end()
		return false
	}
	return true
}

// NoLabel is the reason why a row without a label is set aside; with several labels, the reason begins with it.
const NoLabel = "has no label"

// NoWeight is the reason why a row of weight 0 is set aside.
const NoWeight = "has the weight 0"

// setAside lists a row in the report. With KeepPlace, it puts zeros in its place.
func (r *Reader) setAside(b *rowio.Block, bad *rowio.BadRow) {
	if r.Reject != nil {
		r.Reject(r.first+bad.Line, bad.Reason)
	}
	if n := len(r.report.SetAside); n == maxListed && r.report.Bad == 1 && !strings.HasPrefix(bad.Reason, NoLabel) {
		r.report.SetAside = r.report.SetAside[:n-1] // the first bad row is always listed
	}
	if len(r.report.SetAside) < maxListed {
		r.report.SetAside = append(r.report.SetAside, SetAside{File: r.name, Line: r.first + bad.Line, Column: bad.Column,
			Reason: bad.Reason})
	}
	if r.Mode == KeepPlace {
		b.X = append(b.X, make([]float32, b.D)...)
		b.Bad = append(b.Bad, b.N)
		r.appendRow(b, decodedRow{line: bad.Line, y: make([]float64, max(1, len(r.data.Targets)))})
	}
}

// missing reports whether the text of a label means a missing value.
func missing(label []byte) bool {
	if len(label) == 0 {
		return true
	}
	return len(label) <= 4 && slices.Contains(schema.DefaultMissing, strings.ToLower(string(label)))
}

// end records in the report where reading ended.
func (r *Reader) end() {
	if r.text != nil {
		r.report.Begin, r.report.End, r.report.Lines = r.text.Begin(), r.text.Offset(), r.text.Lines()
		r.report.OtherLines = r.Others
		r.report.Blank = r.text.Blanks()
	} else {
		r.report.Lines = r.report.Rows + r.report.Bad + r.report.Unlabeled + r.report.Weightless + r.report.Unselected
		r.report.End = r.report.Begin + r.report.Lines
		if s, ok := r.rows.(Seeker); ok {
			r.report.Begin, r.report.End = s.Span()
		}
	}
	if r.decoder != nil {
		r.report.Missing, r.report.Others, r.report.Zones = r.decoder.Nulls(), r.decoder.Others(), r.decoder.Zones()
	}
	r.report.Named = r.ids.encode()
	r.rows = nil
}

// setFault records in the report why reading cannot continue.
func (r *Reader) setFault(err error) {
	if failed, ok := errors.AsType[*storage.Error](err); ok {
		r.report.Fault, r.report.Storage = err.Error(), !failed.Refused()
	} else {
		r.report.Fault = (&Error{r.data.Schema.Format, r.name, err}).Error()
	}
	r.rows = nil
}

// Report returns the report of the shard. It is complete when Next has returned false.
func (r *Reader) Report() Report { return r.report }

// Close closes the files. They are only read, so errors of closing them do not matter.
func (r *Reader) Close() {
	for i := len(r.closers) - 1; i >= 0; i-- {
		r.closers[i].Close()
	}
}

package dataset

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/io/csvio"
)

// beginCSV makes the layout by the first file with content, unless there is one
// that the data must fit.
func (d *Dataset) beginCSV(o Options, first int, head []byte) error {
	fail := func(err error) error { return &Error{d.Schema.Format, d.Files[first].Name, err} }
	like := o.Like != nil && o.Like.CSV != nil
	if err := checkFirstLine(head); err != nil {
		return fail(err)
	}
	opts := csvio.Options{Label: o.Label}
	if d.Schema.Format == TSV {
		opts.Comma = '\t'
	}
	switch {
	case o.Header == "yes":
		opts.Header = csvio.Present
	case o.Header == "no", like && !o.Like.CSV.Header:
		opts.Header = csvio.Absent // a first row gone wrong must not pass for a header
	case like:
		// Names that the model knows are a header whatever they look like.
		if named, err := csvio.ReadLayout(bytes.NewReader(head), csvio.Options{Comma: opts.Comma, Header: csvio.Present}); err == nil && o.Like.CSV.NamedIn(named) {
			opts.Header = csvio.Present
		}
	}
	layout, err := csvio.ReadLayout(bytes.NewReader(head), opts)
	if err == nil && like {
		layout, err = o.Like.CSV.Match(layout)
	}
	if err != nil {
		return fail(err)
	}
	d.Schema.CSV, d.Schema.Dim = &layout, len(layout.Features)
	d.Labeled = layout.Label >= 0
	if layout.Header {
		for _, f := range layout.Features {
			d.Schema.Columns = append(d.Schema.Columns, layout.Columns[f])
		}
	}
	return nil
}

// joinCSV reads the header of another file, and returns it if it is another than
// the first one's. Without a header there is nothing to find, and every row is
// checked for its length.
func (d *Dataset) joinCSV(o Options, i, first int, head []byte) (*csvio.Layout, error) {
	layout := d.Schema.CSV
	if layout.Header {
		d.Files[i].Lead = int64(len(head) - len(bytes.TrimLeft(head, "\ufeff \r\n")))
	}
	if i == first || blank(head) {
		return nil, nil
	}
	if err := checkFirstLine(head); err != nil {
		return nil, d.differs(i, first, err)
	}
	if !layout.Header {
		return nil, nil
	}
	other, err := csvio.ReadLayout(bytes.NewReader(head), csvio.Options{Comma: layout.Comma, Header: csvio.Present})
	if err != nil {
		return nil, d.differs(i, first, err)
	}
	if slices.Equal(other.Columns, layout.Columns) {
		return nil, nil
	}
	if _, err := strconv.Atoi(o.Label); err == nil && layout.Label >= 0 && !slices.Contains(layout.Columns, o.Label) {
		// A position means the same column in all files, or it depends on their order.
		here, err := csvio.ReadLayout(bytes.NewReader(head), csvio.Options{Comma: layout.Comma, Header: csvio.Present, Label: o.Label})
		if name := layout.Columns[layout.Label]; err == nil && here.Columns[here.Label] != name {
			err = fmt.Errorf("label %s is column %q here and %q there; give its name", o.Label, here.Columns[here.Label], name)
		}
		if err != nil {
			return nil, d.differs(i, first, err)
		}
	}
	return &other, nil
}

// differs is the error of a header that does not go with the first file's.
func (d *Dataset) differs(i, first int, err error) error {
	return &Error{d.Schema.Format, d.Files[i].Name, fmt.Errorf("its header differs from that of %s: %s", d.Files[first].Name, bare(err))}
}

// checkFirstLine refuses what has no end of line where a header must have ended.
func checkFirstLine(head []byte) error {
	if len(head) == headBytes && bytes.IndexByte(head, '\n') < 0 {
		return fmt.Errorf("its first line is longer than %d bytes; is this a table?", headBytes)
	}
	return nil
}

// layout returns the layout of a CSV file, nil for other formats.
func (d *Dataset) layout(f *File) *csvio.Layout {
	if f.CSV != nil {
		return f.CSV
	}
	return d.Schema.CSV
}

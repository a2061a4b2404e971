package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/csvio"
	"github.com/bochner-ml/bochner/io/rows"
)

// openCSV reads the header of every file. The first file with content gives the
// layout, unless there is one that the data must fit; the columns of the other
// files are found by their names.
func (d *Dataset) openCSV(o Options, heads [][]byte, first int) error {
	fail := func(i int, err error) error { return &Error{d.Schema.Format, d.Files[i].Name, err} }
	opts := csvio.Options{Label: o.Label}
	switch o.Header {
	case "yes":
		opts.Header = csvio.Present
	case "no":
		opts.Header = csvio.Absent
	}
	if d.Schema.Format == TSV {
		opts.Comma = '\t'
	}
	like := o.Like != nil && o.Like.CSV != nil
	if like {
		opts.Comma = o.Like.CSV.Comma
		if o.Header == "" && !o.Like.CSV.Header {
			opts.Header = csvio.Absent
		}
	}
	for i, head := range heads {
		if len(head) == headBytes && bytes.IndexByte(head, '\n') < 0 {
			return fail(i, fmt.Errorf("its first line is longer than %d bytes; is this a table?", headBytes))
		}
	}
	layout, err := csvio.ReadLayout(bytes.NewReader(heads[first]), opts)
	if err == nil && like {
		layout, err = o.Like.CSV.Match(layout)
	}
	if err != nil {
		return fail(first, err)
	}
	d.Schema.CSV, d.Schema.Dim = &layout, len(layout.Features)
	d.Labeled = layout.Label >= 0
	switch {
	case d.Schema.Dim == 0:
		return fail(first, errors.New("has no column beside the label"))
	case d.Schema.Dim > rows.MaxDim:
		return fail(first, fmt.Errorf("has %d columns, more than the %d that a row can have", d.Schema.Dim, rows.MaxDim))
	}
	if !layout.Header {
		return nil // every row is checked for its length
	}
	for _, f := range layout.Features {
		d.Schema.Columns = append(d.Schema.Columns, layout.Columns[f])
	}
	for i, head := range heads {
		if i == first || len(bytes.TrimSpace(head)) == 0 {
			continue
		}
		other, err := csvio.ReadLayout(bytes.NewReader(head), csvio.Options{Comma: layout.Comma, Header: csvio.Present})
		if err == nil && slices.Equal(other.Columns, layout.Columns) {
			continue
		}
		if err == nil {
			other, err = layout.Match(other)
		}
		if err == nil && (other.Label >= 0) != d.Labeled {
			err = fmt.Errorf("column %q, the label, is missing", layout.Columns[layout.Label])
		}
		if err != nil {
			return fail(i, fmt.Errorf("its header differs from that of %s: %s", d.Files[first].Name, bare(err)))
		}
		d.Files[i].CSV = &other
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

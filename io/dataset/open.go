package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/io/compress"
	"github.com/bochner-ml/bochner/io/foreign"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"golang.org/x/sync/errgroup"
)

// HeadBytes is the number of decompressed bytes that are read to recognise a file. It
// limits the length of a CSV header.
const HeadBytes = 1 << 20

// headRead is the number of stored bytes to read for HeadBytes of content. Compressed data is
// hardly ever longer than its content.
const headRead = 2 * HeadBytes

// parallelOpens limits how many files are opened concurrently, and so how many heads
// are in memory. Opening a remote file is mostly latency.
const parallelOpens = 64

// Open lists the files, recognises their format and checks that they agree. It reads only their beginnings.
func Open(ctx context.Context, o Options) (*Dataset, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Format == "auto" {
		o.Format = ""
	}
	if o.Format == "" && o.Like != nil && o.Like.Traits().Faint {
		o.Format = o.Like.Format
	}
	objects := o.Objects
	if objects == nil {
		var err error
		if objects, err = List(ctx, o.Files); err != nil {
			return nil, err
		}
	}
	d := &Dataset{Files: make([]File, len(objects)), Only: o.Only, Part: o.Part}
	d.Schema.LabelText = o.labelText()
	for i, object := range objects {
		d.Files[i].Object = object
	}
	if o.As != "" && len(d.Files) == 1 {
		d.Files[0].Name = o.As
	}
	if len(objects) == 0 {
		return nil, errors.New("dataset: no files to read")
	}
	first, head, err := d.firstContent(ctx)
	if err != nil {
		return nil, err
	}
	opening := &Opening{Data: d, Options: o, First: first}
	format, err := opening.begin(ctx, head)
	if err != nil {
		return nil, err
	}
	files, err := opening.joinAll(ctx, format)
	if err != nil {
		return nil, err
	}
	if format.Agree != nil {
		if err := format.Agree(opening, files); err != nil {
			return nil, err
		}
	}
	d.addNotes(files)
	if o.Strict && len(d.Notes) > 0 {
		return nil, &Error{Name: d.Files[first].Name, Err: errors.New("strict: " + strings.Join(d.Notes, "; "))}
	}
	if o.Like != nil {
		if err := d.Schema.fit(o.Like); err != nil {
			return nil, opening.FileError(first, err)
		}
	}
	return d, nil
}

// fit changes the schema so that rows are read as for the model with the schema like. It returns an error if the
// model takes other rows.
func (s *Schema) fit(like *Schema) error {
	if like.Table != nil && s.Dim == len(like.Table.Columns) {
		s.SetTable(like.Table)
	}
	if s.Dim != like.Dim {
		return fmt.Errorf("has rows of %d values, the model takes %d", s.Dim, like.Dim)
	}
	s.Centre, s.Numbers = like.Centre, like.Numbers
	return s.Shape().CheckSame(like.Shape(), "the model takes")
}

// firstContent returns the index of the first file with content, and the beginning of this file.
func (d *Dataset) firstContent(ctx context.Context) (first int, head []byte, err error) {
	for i := range d.Files {
		f := &d.Files[i]
		if head, f.Compression, err = Peek(ctx, f.Object); err != nil {
			return 0, nil, err
		}
		if !blank(head) {
			return i, head, nil
		}
	}
	return 0, nil, &Error{Name: d.Files[0].Name, Err: errors.New("is empty (no rows)")}
}

// begin finds the schema from the first file with content.
func (o *Opening) begin(ctx context.Context, head []byte) (*Format, error) {
	d := o.Data
	format, err := find(o.Options.Format), error(nil)
	if format != nil {
		err = checkContent(format, head)
	} else {
		format, err = recognise(head, &d.Files[o.First])
	}
	if err != nil {
		return nil, &Error{Name: d.Files[o.First].Name, Err: err}
	}
	d.Schema.Format = format.Name
	if !format.Columns {
		if err := o.Options.withoutColumns(format); err != nil {
			return nil, o.FileError(o.First, err)
		}
	}
	if err := o.Options.misplaced(format); err != nil {
		return nil, o.FileError(o.First, err)
	}
	return format, format.Begin(ctx, o, head)
}

// withoutColumns returns an error if an option names a column, because the format has none.
func (o Options) withoutColumns(format *Format) error {
	switch {
	case o.Label != "" && !format.LabelText:
		return fmt.Errorf("is %s, which has its own place for labels; a label column applies to %s", format.Name,
			withColumns())
	case o.Weight != "" || o.ID != "" || o.Time != "" || len(o.Group) > 0 || o.Fold != "" || len(o.Columns) > 0 ||
		len(o.Drop)+len(o.Levels) > 0:
		return fmt.Errorf("is %s, which has no columns to choose; %s have columns", format.Name, withColumns())
	}
	return nil
}

// withColumns lists the formats with columns.
func withColumns() string {
	var names []string
	for _, f := range allFormats() {
		if f.Columns {
			names = append(names, strings.ToUpper(f.Name))
		}
	}
	return schema.Enumerate(names)
}

// joinAll opens all files, several at a time, and checks that each matches the first
// one with content. The error is about the first file in the list.
func (o *Opening) joinAll(ctx context.Context, format *Format) ([]Seen, error) {
	n := len(o.Data.Files)
	errs := make([]error, n)
	files := make([]Seen, n)
	var g errgroup.Group
	g.SetLimit(parallelOpens)
	for i := range n {
		g.Go(func() error {
			errs[i] = ctx.Err()
			if errs[i] == nil {
				files[i], errs[i] = o.join(ctx, format, i)
			}
			return nil
		})
	}
	g.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// join completes file i.
func (o *Opening) join(ctx context.Context, format *Format, i int) (seen Seen, err error) {
	f := &o.Data.Files[i]
	head, compression, err := Peek(ctx, f.Object)
	if err != nil {
		return seen, err
	}
	f.Compression = compression
	seen.Blank = blank(head)
	switch {
	case o.Options.Format != "":
		err = checkContent(format, head)
	case seen.Blank:
		err = checkContent(nil, head)
	default:
		var other *Format
		if other, err = recognise(head, f); err == nil && other != format {
			err = fmt.Errorf("looks like %s, but %s looks like %s; state the format", other.Name,
				o.Data.Files[o.First].Name, format.Name)
		}
	}
	if err != nil {
		return seen, &Error{Name: f.Name, Err: err}
	}
	if format.Join != nil {
		seen.What, err = format.Join(ctx, o, i, head)
	}
	return seen, err
}

// Peek returns the first bytes of a file after decompression, and the name of its compression, "" for none.
func Peek(ctx context.Context, o storage.Object) (head []byte, kind string, err error) {
	if o.Size == 0 {
		return nil, "", nil // saves a request: most of very many files may be empty
	}
	r, err := o.Open(ctx, 0, headRead)
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	z, k, err := compress.NewReader(r)
	if err == nil {
		defer z.Close()
		head, err = io.ReadAll(io.LimitReader(z, HeadBytes))
	}
	if err != nil {
		return nil, string(k), &Error{Name: o.Name, Err: err}
	}
	return head, string(k), nil
}

// recognise returns the format of a file from its beginning.
func recognise(head []byte, f *File) (*Format, error) {
	size := f.Size
	if f.Compressed() {
		size = -1
	}
	nul := bytes.IndexByte(head[:min(len(head), 4096)], 0)
	var chosen *Format
	best := Unlike
	for _, format := range allFormats() {
		if nul >= 0 && format.Text {
			continue
		}
		if l := format.Sniff(head, size); l > best {
			chosen, best = format, l
		}
		if best == Certain {
			return chosen, nil
		}
	}
	if err := checkContent(nil, head); err != nil {
		return nil, err
	}
	if chosen != nil && !chosen.Text {
		return chosen, nil
	}
	if nul >= 0 {
		return nil, fmt.Errorf("is binary (NUL at byte %d) of an unknown format (have %s; state the format)", nul+1,
			strings.Join(Names(), ", "))
	}
	if err := foreign.Text(head); err != nil {
		return nil, err
	}
	if chosen == nil {
		return nil, fmt.Errorf("has an unknown format (have %s; state the format)", strings.Join(Names(), ", "))
	}
	return chosen, nil
}

// checkContent returns an error if a file of a text format is not text. If format is nil,
// it checks whether any format can read the file.
func checkContent(format *Format, head []byte) error {
	if format != nil && !format.Text {
		return nil // binary numbers may look like anything
	}
	if err := foreign.Binary(head); err != nil {
		return err
	}
	if format != nil {
		for _, other := range allFormats() {
			if !other.Text && other.Sniff(head, -1) == Certain {
				return fmt.Errorf("is %s, not %s; do not state the format", other.Name, format.Name)
			}
		}
	}
	if format == nil && !foreign.IsText(head) {
		return nil
	}
	return foreign.LoneReturns(head)
}

// blank reports whether a file with this beginning has no content.
func blank(head []byte) bool { return len(bytes.TrimSpace(head)) == 0 }

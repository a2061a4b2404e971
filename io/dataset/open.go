package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/io/cifario"
	"github.com/bochner-ml/bochner/io/compress"
	"github.com/bochner-ml/bochner/io/csvio"
	"github.com/bochner-ml/bochner/io/storage"
)

// headBytes is how much of a file is read, decompressed, to recognise it. A CSV
// header may be as long.
const headBytes = 1 << 20

// headRead is how much of a file as it is stored is read for that. What is packed
// is hardly ever longer than what it holds.
const headRead = 2 * headBytes

// parallelOpens bounds how many files are looked at together, and so the heads
// that are in memory. Most of the time of a look at a file elsewhere is that of
// the way there.
const parallelOpens = 64

// Open lists the files, recognises their format and checks that they agree. It
// reads only their beginnings.
func Open(ctx context.Context, o Options) (*Dataset, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Format == "auto" {
		o.Format = ""
	}
	objects, err := list(ctx, "data", o.Data)
	if err != nil {
		return nil, err
	}
	d := &Dataset{Files: make([]File, len(objects))}
	for i, object := range objects {
		d.Files[i].Object = object
	}
	first, head, err := d.lead(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.begin(o, first, head); err != nil {
		return nil, err
	}
	if len(o.LabelFiles) > 0 {
		if err := d.listLabels(ctx, o); err != nil {
			return nil, err
		}
	}
	joined, err := d.joinAll(ctx, o, first)
	if err != nil {
		return nil, err
	}
	if err := d.agree(o, first, joined); err != nil {
		return nil, err
	}
	d.doubt(joined)
	if o.Strict && len(d.Notes) > 0 {
		return nil, &Error{Name: d.Files[first].Name, Err: errors.New("--strict: " + strings.Join(d.Notes, "; "))}
	}
	if o.Like != nil && d.Schema.Dim != o.Like.Dim {
		return nil, &Error{d.Schema.Format, d.Files[first].Name, fmt.Errorf("has rows of %d numbers, the model takes %d", d.Schema.Dim, o.Like.Dim)}
	}
	if o.Like != nil {
		d.Schema.Centre = o.Like.Centre
	}
	return d, nil
}

// lead returns the first file with content, and how it begins.
func (d *Dataset) lead(ctx context.Context) (first int, head []byte, err error) {
	for i := range d.Files {
		f := &d.Files[i]
		if head, f.Compression, err = peek(ctx, f.Object); err != nil {
			return 0, nil, err
		}
		if !blank(head) {
			return i, head, nil
		}
	}
	return 0, nil, &Error{Name: d.Files[0].Name, Err: errors.New("is empty: there are no rows")}
}

// begin makes the schema by the first file with content.
func (d *Dataset) begin(o Options, first int, head []byte) error {
	d.Schema.Format = Format(o.Format)
	if err := checkContent(Format(o.Format), head); err != nil {
		return &Error{Name: d.Files[first].Name, Err: err}
	}
	if o.Format == "" {
		var err error
		if d.Schema.Format, err = recognise(head, &d.Files[first]); err != nil {
			return &Error{Name: d.Files[first].Name, Err: err}
		}
	}
	if f := d.Schema.Format; o.Label != "" && f != CSV && f != TSV {
		return &Error{f, d.Files[first].Name, fmt.Errorf("is %s, whose labels have a place of their own; --label names a column of CSV and TSV", f)}
	}
	switch d.Schema.Format {
	case CSV, TSV:
		return d.beginCSV(o, first, head)
	case LIBSVM:
		d.Labeled = true
		d.Schema.Dim = o.Dim
		if o.Like != nil {
			d.Schema.Dim = o.Like.Dim
		}
	case IDX:
		return d.beginIDX(first, head)
	case CIFAR10, CIFAR100:
		d.Labeled = true
		d.Schema.Dim = cifario.RowLen
	}
	return nil
}

// joinAll looks at every file, several at a time, and checks that it goes with
// the first one that has content. The error is that of the file named first.
func (d *Dataset) joinAll(ctx context.Context, o Options, first int) ([]joined, error) {
	errs := make([]error, len(d.Files))
	files := make([]joined, len(d.Files))
	var g errgroup.Group
	g.SetLimit(parallelOpens)
	for i := range d.Files {
		g.Go(func() error {
			if errs[i] = ctx.Err(); errs[i] == nil {
				files[i], errs[i] = d.join(ctx, o, i, first)
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

// joined is what was seen of a file that does not stay in the Dataset.
type joined struct {
	blank   bool
	columns *csvio.Layout // of its header, where that is another than the first file's
}

// join completes file i.
func (d *Dataset) join(ctx context.Context, o Options, i, first int) (j joined, err error) {
	f := &d.Files[i]
	var head []byte
	if head, f.Compression, err = peek(ctx, f.Object); err != nil {
		return j, err
	}
	j.blank = blank(head)
	if err := checkContent(Format(o.Format), head); err != nil {
		return j, &Error{Name: f.Name, Err: err}
	}
	if o.Format == "" && !blank(head) {
		format, err := recognise(head, f)
		if err != nil {
			return j, &Error{Name: f.Name, Err: err}
		}
		if format != d.Schema.Format {
			return j, &Error{Name: f.Name, Err: fmt.Errorf("looks like %s, but %s looks like %s; name the format with --format", format, d.Files[first].Name, d.Schema.Format)}
		}
	}
	switch d.Schema.Format {
	case CSV, TSV:
		j.columns, err = d.joinCSV(o, i, first, head)
	case IDX:
		err = d.joinIDX(ctx, i, first, head)
	case CIFAR10, CIFAR100:
		err = d.joinCIFAR(i)
	}
	return j, err
}

// peek returns the first bytes of a file behind its compression, and the name of
// that, "" for none.
func peek(ctx context.Context, o storage.Object) (head []byte, kind string, err error) {
	if o.Size == 0 {
		return nil, "", nil // of very many files most may be empty
	}
	r, err := o.Open(ctx, 0, headRead)
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	z, k, err := compress.NewReader(r)
	if err != nil {
		return nil, "", &Error{Name: o.Name, Err: err}
	}
	defer z.Close()
	if k != compress.None {
		kind = k.String()
	}
	if head, err = io.ReadAll(io.LimitReader(z, headBytes)); err != nil {
		return nil, kind, &Error{Name: o.Name, Err: err}
	}
	return head, kind, nil
}

package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/io/idxio"
)

// listLabels finds the label files of IDX files, one for each.
func (d *Dataset) listLabels(ctx context.Context, o Options) error {
	if d.Schema.Format != IDX {
		return &Error{d.Schema.Format, o.LabelFiles[0], errors.New("label files go with IDX files only")}
	}
	labels, err := list(ctx, "label_files", o.LabelFiles)
	if err != nil {
		return err
	}
	if len(labels) != len(d.Files) {
		return &Error{IDX, labels[0].Name, fmt.Errorf("%d label files for %d data files: each takes one, in the same order", len(labels), len(d.Files))}
	}
	for i := range d.Files {
		d.Files[i].Labels = &labels[i]
	}
	d.Labeled = true
	return nil
}

// beginIDX takes the row length from the header of the first file.
func (d *Dataset) beginIDX(first int, head []byte) error {
	h, err := idxio.ReadHeader(bytes.NewReader(head))
	if err != nil {
		return &Error{IDX, d.Files[first].Name, err}
	}
	d.Schema.Dim = h.RowLen()
	if len(h.Dims) == 3 || len(h.Dims) == 4 {
		d.Schema.Image = h.Dims[1:]
	}
	return nil
}

// joinIDX compares the headers of an IDX file and of its labels with the schema,
// with each other and with the sizes of the files.
func (d *Dataset) joinIDX(ctx context.Context, i, first int, head []byte) error {
	f := &d.Files[i]
	h, err := idxio.ReadHeader(bytes.NewReader(head))
	if err == nil && f.Compression == "" {
		err = h.CheckSize(f.Size)
	}
	if err == nil && h.RowLen() != d.Schema.Dim {
		err = fmt.Errorf("has records of %d numbers, %s of %d", h.RowLen(), d.Files[first].Name, d.Schema.Dim)
	}
	if err != nil {
		return &Error{IDX, f.Name, err}
	}
	f.Records = h.Records()
	if f.Labels != nil {
		if head, f.LabelCompression, err = peek(ctx, *f.Labels); err != nil {
			return err
		}
		lh, err := idxio.ReadHeader(bytes.NewReader(head))
		if err == nil && f.LabelCompression == "" {
			err = lh.CheckSize(f.Labels.Size)
		}
		if err == nil {
			err = idxio.Check(h, lh)
		}
		if err != nil {
			return &Error{IDX, f.Labels.Name, err}
		}
	}
	if !f.Compressed() {
		f.RecordBytes = int64(h.RecordBytes())
	}
	return nil
}

// joinCIFAR finds the number of records by the size of the file.
func (d *Dataset) joinCIFAR(i int) error {
	f := &d.Files[i]
	if f.Compressed() {
		return nil
	}
	layout := d.Schema.Format.cifar()
	n, err := layout.Records(f.Size)
	if err != nil {
		return &Error{d.Schema.Format, f.Name, err}
	}
	f.Records, f.RecordBytes = n, int64(layout.RecordBytes())
	return nil
}

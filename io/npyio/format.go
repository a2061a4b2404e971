package npyio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/io/csvio"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/imageio"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/storage"
)

func init() {
	dataset.Register(dataset.Format{
		Name: "npy",
		Traits: dataset.Traits{
			Unlabeled: "NPY arrays have their labels in a separate file, an array of one dimension or text with a line for " +
				"each row; name it in label_files",
			LabelText: true,
		},
		Layout: func() dataset.Layout { return new(textLabels) }, LayoutKey: "npy",
		Options: func() dataset.FormatOptions { return new(imageio.Options) },
		Sniff: func(head []byte, _ int64) dataset.Likeness {
			return dataset.Certain.If(strings.HasPrefix(string(head[:min(len(head), len(magic))]), magic))
		},
		Begin: begin, Join: join, Read: read,
	})
}

// begin takes the row length from the header of the first file, and lists the label files.
func begin(ctx context.Context, o *dataset.Opening, head []byte) error {
	h, err := readHeader(bytes.NewReader(head))
	if err == nil {
		err = h.checkData()
	}
	if err != nil {
		return o.FileError(o.First, err)
	}
	o.Data.Schema.Dim = int(h.rowLen())
	if err := imageio.LabelFiles(ctx, o); err != nil || o.Options.Label == "" || o.Data.Labeled {
		return err
	}
	return o.FileError(o.First, errors.New("has no column for a label; name the file with this column in label_files"))
}

// join compares the headers of a file and of its labels with the schema, with each other and with the sizes of
// the files.
func join(ctx context.Context, o *dataset.Opening, i int, head []byte) (any, error) {
	f := &o.Data.Files[i]
	if len(head) == 0 {
		return nil, nil
	}
	h, err := headerOf(f, head)
	if dim := int64(o.Data.Schema.Dim); err == nil && h.rowLen() != dim {
		err = fmt.Errorf("has rows of %d numbers, %s has %d", h.rowLen(), o.Data.Files[o.First].Name, dim)
	}
	if err != nil {
		return nil, o.FileError(i, err)
	}
	f.Records = h.Dims[0]
	if f.Labels != nil {
		if err := joinLabels(ctx, f, o.Options.Label); err != nil {
			return nil, &dataset.Error{Format: "npy", Name: f.Labels.Name, Err: err}
		}
	}
	if !f.Compressed() {
		f.RecordBytes = h.recordBytes()
	}
	if h.Columns {
		f.Memory = min(f.Size, columnsBytes)
	}
	return nil, nil
}

// headerOf returns the header of a file that begins with head.
func headerOf(f *dataset.File, head []byte) (h header, err error) {
	if h, err = readHeader(bytes.NewReader(head)); err != nil {
		return h, err
	}
	if err := h.checkData(); err != nil {
		return h, err
	}
	if f.Compression == "" {
		if err := h.checkSize(f.Size); err != nil {
			return h, err
		}
	}
	if h.Columns && f.Compressed() {
		return h, errors.New("is compressed, and has its columns one after another (Fortran order); decompress it, " +
			`or save it by rows, in Python: numpy.save("FILE", numpy.ascontiguousarray(array))`)
	}
	return h, nil
}

// joinLabels compares the number of labels with the number of rows. column is the column of labels in text.
func joinLabels(ctx context.Context, f *dataset.File, column string) error {
	head, compression, err := dataset.Peek(ctx, *f.Labels)
	if err != nil {
		return err
	}
	f.LabelCompression = compression
	if !bytes.HasPrefix(head, []byte(magic)) {
		f.Layout, err = findLabels(ctx, f, head, column)
		return err
	}
	if column != "" {
		return fmt.Errorf("is an array, which has no column %s; leave out the label", dataset.Quote(column))
	}
	h, err := readHeader(bytes.NewReader(head))
	if err == nil && compression == "" {
		err = h.checkSize(f.Labels.Size)
	}
	if err != nil {
		return err
	}
	return h.checkLabels(f.Records)
}

// read opens a shard: some rows, or the whole of a file that is compressed.
func read(ctx context.Context, in *dataset.Input) (rowio.Reader, error) {
	f, r := in.File, new(reader)
	var err error
	if r.data, err = open(ctx, in, f.Object, f.Compression); err != nil {
		return nil, err
	}
	if int(r.data.h.rowLen()) != in.Data.Schema.Dim || r.data.h.checkData() != nil {
		return nil, errors.New("its shape has changed since it was opened; start again when no process writes to it")
	}
	if !in.Labels || f.Labels == nil {
		return r, nil
	}
	if text, ok := f.Layout.(*textLabels); ok {
		content, err := in.Open(ctx, *f.Labels, f.LabelCompression, 0, -1)
		if err != nil {
			return nil, err
		}
		r.labels = &texts{textLabels: text, records: csvio.NewRecords(content, text.Comma, text.Fields)}
		first, _ := recordsOf(in)
		for range first {
			if _, err := r.labels.next(); err != nil {
				return nil, fmt.Errorf("labels file: %w", err)
			}
		}
		return r, nil
	}
	array, err := open(ctx, in, *f.Labels, f.LabelCompression)
	r.labels = &elements{array: array}
	return r, err
}

// recordsOf returns the records of a shard, which are all records of a file that is compressed.
func recordsOf(in *dataset.Input) (first, count int64) {
	if in.File.Compressed() {
		return 0, in.File.Records
	}
	return in.Shard.Start, in.Shard.End - in.Shard.Start
}

// open opens the records of a shard in an array of data or labels. If the whole file is read, it first reads the
// header.
func open(ctx context.Context, in *dataset.Input, o storage.Object, compression string) (*array, error) {
	first, count := recordsOf(in)
	whole := in.File.Compressed()
	r, err := in.Open(ctx, o, compression, 0, -1)
	if err != nil {
		return nil, err
	}
	h, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	if first < 0 || count < 0 || first > h.Dims[0]-count || whole && count != h.Dims[0] {
		return nil, errors.New("its rows have changed since it was opened; start again when no process writes to it")
	}
	switch {
	case h.Columns && whole:
		return nil, errors.New("has its columns one after another since it was opened; start again when no process writes " +
			"to it")
	case h.Columns:
		if r, err = byRows(ctx, o, h, first, count); err != nil {
			return nil, err
		}
	case !whole:
		off, n := h.extent(first, count)
		if r, err = in.Open(ctx, o, "", off, n); err != nil {
			return nil, err
		}
	}
	return newArray(r, h, first, count, whole), nil
}

// columnsBytes is the approximate memory of a reader of columns in bytes: a shard of usual size.
const columnsBytes = 32 << 20

// byRows reads some records of an array whose columns are one after another.
func byRows(ctx context.Context, o storage.Object, h header, first, count int64) (io.Reader, error) {
	if err := h.checkSize(o.Size); err != nil { // this bounds the memory
		return nil, err
	}
	size, width := int64(h.Size), h.recordBytes()
	all, column := make([]byte, count*width), make([]byte, count*size)
	for j := int64(0); j*size < width; j++ {
		r, err := o.Open(ctx, h.At+(j*h.Dims[0]+first)*size, int64(len(column)))
		if err != nil {
			return nil, err
		}
		_, err = io.ReadFull(r, column)
		r.Close()
		if err != nil {
			return nil, fmt.Errorf("column %d: %w", j+1, err)
		}
		for i := range count {
			copy(all[i*width+j*size:], column[i*size:][:size])
		}
	}
	return bytes.NewReader(all), nil
}

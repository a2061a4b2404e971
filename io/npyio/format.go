package npyio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/imageio"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/storage"
)

func init() {
	dataset.Register(dataset.Format{
		Name: "npy",
		Traits: dataset.Traits{
			Unlabeled: "NPY arrays have their labels in a separate file, an array of one dimension; name it in label_files",
		},
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
		return o.Error(o.First, err)
	}
	o.Data.Schema.Dim = int(h.rowLen())
	return imageio.LabelFiles(ctx, o)
}

// join compares the headers of a file and of its labels with the schema, with each other and with the sizes of
// the files.
func join(ctx context.Context, o *dataset.Opening, i int, head []byte) (any, error) {
	f := &o.Data.Files[i]
	if len(head) == 0 {
		return nil, nil
	}
	h, err := readHeader(bytes.NewReader(head))
	if err == nil {
		err = h.checkData()
	}
	if err == nil && f.Compression == "" {
		err = h.checkSize(f.Size)
	}
	if dim := int64(o.Data.Schema.Dim); err == nil && h.rowLen() != dim {
		err = fmt.Errorf("has rows of %d numbers, %s has %d", h.rowLen(), o.Data.Files[o.First].Name, dim)
	}
	if err != nil {
		return nil, o.Error(i, err)
	}
	f.Records = h.Dims[0]
	if f.Labels != nil {
		if err := joinLabels(ctx, f); err != nil {
			return nil, &dataset.Error{Format: "npy", Name: f.Labels.Name, Err: err}
		}
	}
	if !f.Compressed() {
		f.RecordBytes = h.recordBytes()
	}
	return nil, nil
}

func joinLabels(ctx context.Context, f *dataset.File) error {
	head, compression, err := dataset.Peek(ctx, *f.Labels)
	if err != nil {
		return err
	}
	f.LabelCompression = compression
	if !bytes.HasPrefix(head, []byte(magic)) {
		return errors.New(`is not an NPY array; labels of arrays are arrays, in Python: numpy.save("labels.npy", labels)`)
	}
	h, err := readHeader(bytes.NewReader(head))
	if err == nil && compression == "" {
		err = h.checkSize(f.Labels.Size)
	}
	if err == nil {
		err = h.checkLabels(f.Records)
	}
	return err
}

// read opens a shard: some rows, or the whole of a file that is compressed.
func read(ctx context.Context, in *dataset.Input) (rows.Reader, error) {
	f, r := in.File, new(reader)
	var err error
	first, count := in.Shard.Start, in.Shard.End-in.Shard.Start
	if f.Compressed() {
		first, count = 0, f.Records
	}
	if r.data, err = open(ctx, in, f.Object, f.Compression, f.Compressed(), first, count); err != nil {
		return nil, err
	}
	if int(r.data.h.rowLen()) != in.Data.Schema.Dim || r.data.h.checkData() != nil {
		return nil, errors.New("its shape has changed since it was opened; start again when no process writes to it")
	}
	if in.Labels && f.Labels != nil {
		r.labels, err = open(ctx, in, *f.Labels, f.LabelCompression, f.Compressed(), first, count)
	}
	return r, err
}

// open opens some records of an array: alone, or after its header if the whole file is read.
func open(ctx context.Context, in *dataset.Input, o storage.Object, compression string, whole bool, first,
	count int64) (*array, error) {
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
	if !whole {
		off, n := h.Range(first, count)
		if r, err = in.Open(ctx, o, "", off, n); err != nil {
			return nil, err
		}
	}
	return newArray(r, h, first, count, whole), nil
}

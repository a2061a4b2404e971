package imageio

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/storage"
)

func init() {
	dataset.Register(dataset.Format{
		Name: "idx", Package: "imageio",
		Traits: dataset.Traits{
			Scale: "255", Image: image,
			Unlabeled: "IDX images have their labels in a separate file; name it in label_files",
		},
		Options: func() dataset.FormatOptions { return new(Options) },
		Sniff: func(head []byte, _ int64) dataset.Likeness {
			return dataset.Certain.If(sniff(head))
		},
		Begin: begin, Join: join, Read: read,
	})
}

// Options are the options of formats with labels in separate files.
type Options struct {
	// Label files of IDX and NPY data, in the order of --data. For NPY, they can be text files: one
	// label a line, or CSV with the column that --label names.
	LabelFiles []string `flag:"label_files,common" placeholder:"FILES"` // patterns
}

// Validate returns nil: all options are valid.
func (o Options) Validate() error { return nil }

// Patterns returns the patterns of the label files.
func (o Options) Patterns() map[string][]string {
	return map[string][]string{"label_files": o.LabelFiles}
}

// image returns the shape of rows that have two or three dimensions in the file.
func image(s *dataset.Schema) rowio.Image {
	switch len(s.Image) {
	case 2:
		return rowio.Image{Height: s.Image[0], Width: s.Image[1], Channels: 1}
	case 3:
		return rowio.Image{Height: s.Image[0], Width: s.Image[1], Channels: s.Image[2]}
	}
	return rowio.Image{}
}

// image returns the sizes of images; nil if records have another number of dimensions.
func (h header) image() []int {
	if len(h.Dims) == 3 || len(h.Dims) == 4 {
		return h.Dims[1:]
	}
	return nil
}

// begin takes the row length from the header of the first file and lists the label files.
func begin(ctx context.Context, o *dataset.Opening, head []byte) error {
	h, err := readHeader(bytes.NewReader(head))
	if err != nil {
		return o.FileError(o.First, err)
	}
	o.Data.Schema.Dim = h.rowLen()
	o.Data.Schema.Image = h.image()
	return LabelFiles(ctx, o)
}

// LabelFiles lists the label files of the options, one for each data file.
func LabelFiles(ctx context.Context, o *dataset.Opening) error {
	d := o.Data
	patterns := dataset.OptionsOf[Options](o.Options).LabelFiles
	if len(patterns) == 0 {
		return nil
	}
	labels, err := dataset.List(ctx, patterns)
	if err != nil {
		return err
	}
	if len(labels) != len(d.Files) {
		return &dataset.Error{Format: d.Schema.Format, Name: labels[0].Name,
			Err: fmt.Errorf("%d label files for %d data files; name one for each, in the same order", len(labels), len(d.Files))}
	}
	for i := range d.Files {
		d.Files[i].Labels = &labels[i]
	}
	d.Labeled = true
	return nil
}

// join compares the headers of a file and of its labels with the schema, with each
// other and with the sizes of the files.
func join(ctx context.Context, o *dataset.Opening, i int, head []byte) (any, error) {
	f := &o.Data.Files[i]
	h, err := readHeader(bytes.NewReader(head))
	if err == nil && f.Compression == "" {
		err = h.checkSize(f.Size)
	}
	if dim := o.Data.Schema.Dim; err == nil && h.rowLen() != dim {
		err = fmt.Errorf("has records of %d values, %s has %d", h.rowLen(), o.Data.Files[o.First].Name, dim)
	}
	if err == nil {
		err = image(&dataset.Schema{Image: h.image()}).CheckSame(o.Data.Schema.Shape(), o.Data.Files[o.First].Name+" has")
	}
	if err != nil {
		return nil, o.FileError(i, err)
	}
	f.Records = h.records()
	if f.Labels != nil {
		if err := joinLabels(ctx, f, h); err != nil {
			return nil, err
		}
	}
	if !f.Compressed() {
		f.RecordBytes = int64(h.recordBytes())
	}
	return nil, nil
}

// joinLabels checks the header of the file of labels against the header h of the images, and sets its compression.
func joinLabels(ctx context.Context, f *dataset.File, h header) error {
	head, compression, err := dataset.Peek(ctx, *f.Labels)
	if err != nil {
		return err
	}
	f.LabelCompression = compression
	lh, err := readHeader(bytes.NewReader(head))
	if err == nil && compression == "" {
		err = lh.checkSize(f.Labels.Size)
	}
	if err == nil {
		err = check(h, lh)
	}
	if err != nil {
		return &dataset.Error{Format: "idx", Name: f.Labels.Name, Err: err}
	}
	return nil
}

// read returns a reader of a shard. It reads compressed files from their beginning, and otherwise a range of the
// images and of the labels.
func read(ctx context.Context, in *dataset.Input) (rowio.Reader, error) {
	f := in.File
	withLabels := in.Labels && f.Labels != nil
	var labels io.Reader
	if f.Compressed() {
		images, err := in.Open(ctx, f.Object, f.Compression, 0, -1)
		if err == nil && withLabels {
			labels, err = in.Open(ctx, *f.Labels, f.LabelCompression, 0, -1)
		}
		if err != nil {
			return nil, err
		}
		return openStreams(images, labels)
	}
	first, count := in.Shard.Start, in.Shard.End-in.Shard.Start
	part := func(o storage.Object) (header, io.Reader, error) {
		head, err := in.Open(ctx, o, "", 0, -1)
		if err != nil {
			return header{}, nil, err
		}
		h, err := readHeader(head)
		if err != nil {
			return h, nil, err
		}
		off, n := h.extent(first, count)
		r, err := in.Open(ctx, o, "", off, n)
		return h, r, err
	}
	h, images, err := part(f.Object)
	if err != nil {
		return nil, err
	}
	var lh header
	if withLabels {
		if lh, labels, err = part(*f.Labels); err != nil {
			return nil, err
		}
	}
	return newReader(images, labels, h, lh, first, count), nil
}

package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/io/cifario"
	"github.com/bochner-ml/bochner/io/compress"
	"github.com/bochner-ml/bochner/io/csvio"
	"github.com/bochner-ml/bochner/io/idxio"
	"github.com/bochner-ml/bochner/io/libsvmio"
	"github.com/bochner-ml/bochner/io/storage"
)

// headBytes is how much of a file is read, decompressed, to recognise it. A CSV
// header may be as long.
const headBytes = 1 << 20

// parallelOpens bounds how many files are looked at together.
const parallelOpens = 16

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
	heads := make([][]byte, len(objects))
	var g errgroup.Group
	g.SetLimit(parallelOpens)
	for i, object := range objects {
		d.Files[i].Object = object
		g.Go(func() error {
			head, kind, err := peek(ctx, object)
			if err != nil {
				return err
			}
			heads[i] = head
			d.Files[i].Compression = kind
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	first := firstWithContent(heads)
	if first < 0 {
		return nil, &Error{Name: d.Files[0].Name, Err: errors.New("is empty: there are no rows")}
	}
	if d.Schema.Format, err = d.format(o, heads, first); err != nil {
		return nil, err
	}
	switch d.Schema.Format {
	case CSV, TSV:
		err = d.openCSV(o, heads, first)
	case LIBSVM:
		d.Labeled = true
		d.Schema.Dim = o.Dim
		if o.Like != nil {
			d.Schema.Dim = o.Like.Dim
		}
	case IDX:
		err = d.openIDX(ctx, o, heads)
	case CIFAR10, CIFAR100:
		err = d.openCIFAR()
	}
	if err != nil {
		return nil, err
	}
	if len(o.LabelFiles) > 0 && d.Schema.Format != IDX {
		return nil, &Error{d.Schema.Format, o.LabelFiles[0], errors.New("label files go with IDX files only")}
	}
	if o.Like != nil && d.Schema.Dim != o.Like.Dim {
		return nil, &Error{d.Schema.Format, d.Files[first].Name, fmt.Errorf("has rows of %d numbers, the model takes %d", d.Schema.Dim, o.Like.Dim)}
	}
	return d, nil
}

func firstWithContent(heads [][]byte) int {
	for i, h := range heads {
		if len(bytes.TrimSpace(h)) > 0 {
			return i
		}
	}
	return -1
}

// peek returns the first bytes of a file behind its compression.
func peek(ctx context.Context, o storage.Object) (head []byte, kind string, err error) {
	r, err := o.Open(ctx, 0, -1)
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
	head = make([]byte, headBytes)
	n, err := io.ReadFull(z, head)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, kind, &Error{Name: o.Name, Err: err}
	}
	var bad *compress.Error
	if errors.As(err, &bad) {
		return nil, kind, &Error{Name: o.Name, Err: err}
	}
	return bytes.Clone(head[:n]), kind, nil
}

// format returns the format named by the options, or that of the first file with
// content, which the others must share.
func (d *Dataset) format(o Options, heads [][]byte, first int) (Format, error) {
	if o.Format != "" {
		return Format(o.Format), nil
	}
	var format Format
	for i, head := range heads {
		if len(bytes.TrimSpace(head)) == 0 {
			continue
		}
		f, err := recognise(head, &d.Files[i], o)
		if err != nil {
			return "", &Error{Name: d.Files[i].Name, Err: err}
		}
		if i == first {
			format = f
		} else if f != format {
			return "", &Error{Name: d.Files[i].Name, Err: fmt.Errorf("looks like %s, but %s looks like %s; name the format with --format", f, d.Files[first].Name, format)}
		}
	}
	return format, nil
}

func recognise(head []byte, f *File, o Options) (Format, error) {
	size := f.Size
	if f.Compressed() {
		size = -1
	}
	nul := bytes.IndexByte(head[:min(len(head), 4096)], 0)
	switch {
	case idxio.Sniff(head):
		return IDX, nil
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return "", errors.New("is UTF-16 text; convert it with iconv -f UTF-16 -t UTF-8")
	case cifario.CIFAR10.Plausible(head, size):
		return CIFAR10, nil
	case nul >= 0:
		return "", fmt.Errorf("is no text, as byte %d is NUL, and neither IDX nor CIFAR-10 (have %s; name one with --format)", nul+1, strings.Join(Formats, ", "))
	case libsvmio.Sniff(head):
		return LIBSVM, nil
	case csvio.Sniff(head) == '\t':
		return TSV, nil
	}
	return CSV, nil
}

func (d *Dataset) openIDX(ctx context.Context, o Options, heads [][]byte) error {
	var labels []storage.Object
	if len(o.LabelFiles) > 0 {
		var err error
		if labels, err = list(ctx, "label_files", o.LabelFiles); err != nil {
			return err
		}
		if len(labels) != len(d.Files) {
			return &Error{IDX, labels[0].Name, fmt.Errorf("%d label files for %d data files: each takes one, in the same order", len(labels), len(d.Files))}
		}
		d.Labeled = true
	}
	for i := range d.Files {
		f := &d.Files[i]
		h, err := idxio.ReadHeader(bytes.NewReader(heads[i]))
		if err == nil && f.Compression == "" {
			err = h.CheckSize(f.Size)
		}
		if err != nil {
			return &Error{IDX, f.Name, err}
		}
		f.Records = h.Records()
		if i == 0 {
			d.Schema.Dim = h.RowLen()
		} else if h.RowLen() != d.Schema.Dim {
			return &Error{IDX, f.Name, fmt.Errorf("has records of %d numbers, %s of %d", h.RowLen(), d.Files[0].Name, d.Schema.Dim)}
		}
		if labels != nil {
			head, kind, err := peek(ctx, labels[i])
			if err != nil {
				return err
			}
			lh, err := idxio.ReadHeader(bytes.NewReader(head))
			if err == nil && kind == "" {
				err = lh.CheckSize(labels[i].Size)
			}
			if err == nil {
				err = idxio.Check(h, lh)
			}
			if err != nil {
				return &Error{IDX, labels[i].Name, err}
			}
			f.Labels, f.LabelCompression = &labels[i], kind
		}
		if !f.Compressed() {
			f.RecordBytes = int64(h.RecordBytes())
		}
	}
	return nil
}

func (d *Dataset) openCIFAR() error {
	d.Labeled = true
	d.Schema.Dim = cifario.RowLen
	layout := d.Schema.Format.cifar()
	for i := range d.Files {
		f := &d.Files[i]
		if f.Compressed() {
			continue
		}
		n, err := layout.Records(f.Size)
		if err != nil {
			return &Error{d.Schema.Format, f.Name, err}
		}
		f.Records, f.RecordBytes = n, int64(layout.RecordBytes())
	}
	return nil
}

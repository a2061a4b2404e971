package imageio

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
)

// cifarRowLen is the length of a row: 32×32 red values, then green, then blue, each 0
// to 255.
const cifarRowLen = 3 * 32 * 32

// CIFARLayout is the layout of a record and the label that is read from it.
type CIFARLayout struct {
	name    string
	classes []int // number of classes of each label byte
	label   int   // index of the label byte to read
}

// The layouts.
var (
	CIFAR10        = &CIFARLayout{"CIFAR-10", []int{10}, 0}
	CIFAR100Coarse = &CIFARLayout{"CIFAR-100 (coarse labels)", []int{20, 100}, 0}
	CIFAR100Fine   = &CIFARLayout{"CIFAR-100 (fine labels)", []int{20, 100}, 1}
)

func (l *CIFARLayout) String() string { return l.name }

// recordBytes returns the length of a record in bytes, 3,073 or 3,074.
func (l *CIFARLayout) recordBytes() int { return len(l.classes) + cifarRowLen }

// records returns the number of records in an uncompressed file of size bytes.
func (l *CIFARLayout) records(size int64) (int64, error) {
	n := int64(l.recordBytes())
	if size < 0 || size%n != 0 {
		return 0, fmt.Errorf("%d bytes are not a whole number of %v records of %d bytes (%d too many; truncated, "+
			"or another format?)", size, l, n, size%n)
	}
	return size / n, nil
}

// extent returns where in the file the records [first, first+count) are: the
// offset of the first and the bytes of them all.
func (l *CIFARLayout) extent(first, count int64) (off, n int64) {
	size := int64(l.recordBytes())
	return first * size, count * size
}

// plausible reports whether a file can have the layout. It checks the size (-1 if
// unknown) and the label bytes of all records that begin in head, the first bytes of
// the decompressed file. head must reach into two records unless the file is shorter.
// Of other files that begin with a byte below 10, one in 25 passes with a head of two
// records and one in 600 with three, so check formats with a magic number first.
func (l *CIFARLayout) plausible(head []byte, size int64) bool {
	n := l.recordBytes()
	if size >= 0 {
		if records, err := l.records(size); err != nil || records == 0 {
			return false
		}
	}
	if len(head) < n+len(l.classes) && int64(len(head)) != size {
		return false
	}
	for ; len(head) >= len(l.classes); head = head[min(n, len(head)):] {
		for i, c := range l.classes {
			if int(head[i]) >= c {
				return false
			}
		}
	}
	return true
}

// CIFARReader yields records as rows. The label is the decimal text of the label byte.
type CIFARReader struct {
	b      *bufio.Reader
	layout *CIFARLayout
	first  int64 // records of the file before the reader's first
	left   int64 // records still to read; negative: to the end of the stream
	done   int64 // records read
	err    error // the end, or why reading stopped
	text   []byte
}

var _ rowio.Reader = (*CIFARReader)(nil)

// NewCIFARReader returns a reader of count records of a decompressed stream positioned at
// the record first, as CIFARLayout.extent returns it; first is used in error messages only.
// A negative count reads to the end of the stream. A stream that ends before count
// records, or inside one, is an error.
func NewCIFARReader(r io.Reader, layout *CIFARLayout, first, count int64) *CIFARReader {
	if first < 0 {
		panic("imageio: first record is negative")
	}
	return &CIFARReader{b: bufio.NewReaderSize(r, 64<<10), layout: layout, first: first, left: count}
}

// Line implements rowio.Reader: the 1-based number of the last record read.
func (r *CIFARReader) Line() int64 { return r.done }

// Append implements rowio.Reader. A record whose label byte is not a class of the layout
// is a bad row.
func (r *CIFARReader) Append(x []float32) ([]float32, []byte, error) {
	if r.err != nil {
		return x, nil, r.err
	}
	if r.left == 0 {
		r.err = io.EOF
		return x, nil, r.err
	}
	rec, err := r.b.Peek(r.layout.recordBytes())
	if err != nil {
		r.err = r.stop(len(rec), err)
		return x, nil, r.err
	}
	r.b.Discard(len(rec)) // buffered, so it cannot fail; the bytes stay until the next Peek
	r.done++
	r.left--
	for i, c := range r.layout.classes {
		if int(rec[i]) >= c {
			return x, nil, &rowio.BadRow{Line: r.done,
				Reason: fmt.Sprintf("label byte %d is %d; %v has 0 to %d (is the file of another format?)", i+1, rec[i],
					r.layout, c-1)}
		}
	}
	pixels := rec[len(r.layout.classes):]
	n := len(x)
	x = slices.Grow(x, cifarRowLen)[:n+cifarRowLen]
	dst := x[n:]
	for i, v := range pixels[:len(dst)] {
		dst[i] = float32(v)
	}
	r.text = strconv.AppendInt(r.text[:0], int64(rec[r.layout.label]), 10)
	return x, r.text, nil
}

// stop explains why the next record cannot be read after n of its bytes.
func (r *CIFARReader) stop(n int, err error) error {
	last := r.first + r.done
	switch {
	case err != io.EOF:
		return fmt.Errorf("record %d: %w", last+1, err)
	case n > 0:
		return fmt.Errorf("record %d has only %d of %d bytes (truncated?): %w", last+1, n, r.layout.recordBytes(),
			io.ErrUnexpectedEOF)
	case r.left > 0:
		return fmt.Errorf("ends after record %d of %d (truncated?): %w", last, last+r.left, io.ErrUnexpectedEOF)
	}
	return io.EOF
}

func init() {
	dataset.Register(CIFAR10.format("cifar10", func(head []byte, size int64) dataset.Likeness {
		return dataset.Likely.If(CIFAR10.plausible(head, size))
	}))
	// What looks like two labels may be one label and a pixel.
	dataset.Register(CIFAR100Fine.format("cifar100", func([]byte, int64) dataset.Likeness { return dataset.Unlike }))
}

func (l *CIFARLayout) format(name string, sniff func([]byte, int64) dataset.Likeness) dataset.Format {
	return dataset.Format{
		Name: name, Package: "imageio",
		Traits: dataset.Traits{Scale: "255", Faint: true, Image: func(*dataset.Schema) rowio.Image {
			return rowio.Image{Height: 32, Width: 32, Channels: 3, Planar: true}
		}},
		Sniff: sniff,
		Begin: func(_ context.Context, o *dataset.Opening, _ []byte) error {
			o.Data.Labeled = true
			o.Data.Schema.Dim = cifarRowLen
			return nil
		},
		Join: l.join, Read: l.read,
		Range: func(_ *dataset.File, s dataset.Shard) (off, n int64) { return l.extent(s.Start, s.End-s.Start) },
	}
}

// join computes the number of records from the file size.
func (l *CIFARLayout) join(_ context.Context, o *dataset.Opening, i int, _ []byte) (any, error) {
	f := &o.Data.Files[i]
	if f.Compressed() {
		return nil, nil
	}
	n, err := l.records(f.Size)
	if err != nil {
		return nil, o.FileError(i, err)
	}
	f.Records, f.RecordBytes = n, int64(l.recordBytes())
	return nil, nil
}

func (l *CIFARLayout) read(ctx context.Context, in *dataset.Input) (rowio.Reader, error) {
	r, count, err := in.Records(ctx)
	if err != nil {
		return nil, err
	}
	return NewCIFARReader(r, l, in.Shard.Start, count), nil
}

package dataset

import (
	"context"
	"io"

	"github.com/bochner-ml/bochner/io/compress"
	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
)

// Input is a shard for a format to read. Closing the Reader closes the files that an Input opens.
type Input struct {
	Data   *Dataset
	File   *File
	Shard  Shard
	Labels bool // labels are wanted
	IDs    bool // identifiers are wanted

	reader *Reader
}

// Sink returns the Sink of the fields of feature columns; nil for rows of plain numbers. Its columns are
// numbered in the order of the layout's features. If describes is true, the Sink describes columns and
// stores no values: rows are then empty, and the label and other columns with roles follow the features.
func (in *Input) Sink() (sink schema.Sink, describes bool) {
	switch r, s := in.reader, &in.Data.Schema; {
	case r.Describe != nil:
		return r.Describe, true
	case s.Table != nil:
		r.decoder = schema.NewDecoder(s.Table, s.Centre)
		return r.decoder, false
	}
	return nil, false
}

// Layout returns the layout of the file, or nil if the format has none.
func (in *Input) Layout() Layout {
	if in.File.Layout != nil {
		return in.File.Layout
	}
	return in.Data.Schema.Layout
}

// Lines opens a shard of text. If quote is set, quoted fields, which comma separates, may hold newlines.
func (in *Input) Lines(ctx context.Context, quote bool, comma byte) (*lines.Reader, error) {
	off, n := in.Data.opening(in.File, in.Shard)
	r, err := in.Open(ctx, in.File.Object, in.File.Compression, off, n)
	if err != nil {
		return nil, err
	}
	s := in.Shard
	in.reader.text = lines.New(r, lines.Options{Start: s.Start, End: s.End, Skip: !s.Exact, Quote: quote, Comma: comma})
	return in.reader.text, nil
}

// Records opens the records of a shard at the position from Format.Range, or the whole
// file if it is not cut. It also returns the number of records, −1 if unknown.
func (in *Input) Records(ctx context.Context) (r io.Reader, count int64, err error) {
	count = in.Shard.End - in.Shard.Start
	if in.Shard.End < 0 {
		count = -1
	}
	off, n := in.Data.opening(in.File, in.Shard)
	r, err = in.Open(ctx, in.File.Object, in.File.Compression, off, n)
	return r, count, err
}

// Open opens n bytes of a file from an offset, to its end if n is negative. A
// compressed file is opened whole and decompressed.
func (in *Input) Open(ctx context.Context, o storage.Object, compression string, off, n int64) (io.Reader, error) {
	if compression != "" {
		off, n = 0, -1
	}
	c, err := in.reader.source.open(ctx, o, off, n)
	if err != nil {
		return nil, err
	}
	in.reader.closer = append(in.reader.closer, c)
	if compression == "" {
		return c, nil
	}
	z, _, err := compress.NewReader(c)
	if err != nil {
		return nil, err
	}
	in.reader.closer = append(in.reader.closer, z)
	return z, nil
}

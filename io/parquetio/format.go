// Package parquetio reads rows from Parquet files: the needed columns, row group by row group.
// Lists of numbers become a column for each element; a file may have other nested columns if
// they are not used.
//
// Files may be damaged: sizes are checked before memory is allocated, and all decoding is bounds-checked.
package parquetio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/parquetio/meta"
	"github.com/bochner-ml/bochner/io/rowio"
)

func init() {
	dataset.Register(dataset.Format{
		Name:   "parquet",
		Traits: dataset.Traits{Columns: true, Exact: true},
		Layout: func() dataset.Layout { return new(dataset.TableLayout) }, LayoutKey: "parquet",
		Sniff: func(head []byte, _ int64) dataset.Likeness { return dataset.Certain.If(sniff(head)) },
		Begin: begin, Join: join, Agree: dataset.AgreeColumns, Read: read,
		Range: func(f *dataset.File, _ dataset.Shard) (off, n int64) { return tailRange(f.Size) },
	})
}

// sniff reports whether a file that begins with head is Parquet: its magic bytes, which may
// also begin a text, are followed by a page or the footer.
func sniff(head []byte) bool {
	return bytes.HasPrefix(head, []byte(meta.Magic)) && bytes.ContainsFunc(head[:min(len(head), 64)], func(r rune) bool {
		return r < ' ' && !strings.ContainsRune("\t\n\v\f\r", r)
	})
}

// footerOf reads the footer of file i.
func footerOf(ctx context.Context, o *dataset.Opening, i int) (*footer, error) {
	file := &o.Data.Files[i]
	if file.Compressed() {
		return nil, o.FileError(i, errors.New("is compressed as a whole ("+file.Compression+
			"), so its end cannot be read first; decompress it: Parquet is compressed inside"))
	}
	var opened io.Closer
	_, f, err := readTail(ctx, file.Object, func(off, n int64) (io.Reader, error) {
		r, err := file.Object.Open(ctx, off, n)
		opened = r
		return r, err
	})
	if opened != nil {
		opened.Close()
	}
	if err == nil {
		like, _ := o.Data.Schema.Layout.(*dataset.TableLayout)
		err = f.expand(like)
	}
	if err != nil {
		return nil, o.FileError(i, err)
	}
	return f, nil
}

// begin makes the layout from the columns of the first file.
func begin(ctx context.Context, o *dataset.Opening, _ []byte) error {
	f, err := footerOf(ctx, o, o.First)
	if err != nil {
		return err
	}
	return dataset.BeginStored(o, f.names)
}

// join stores where a file can be cut, and returns its columns if they differ from the first file's.
func join(ctx context.Context, o *dataset.Opening, i int, head []byte) (any, error) {
	if len(head) == 0 {
		return nil, nil
	}
	f, err := footerOf(ctx, o, i)
	if err != nil {
		return nil, err
	}
	file := &o.Data.Files[i]
	file.Records = f.rows
	cut := dataset.Cut{}
	if len(f.groups) > 0 { // a file without rows is read whole, to find that out
		file.Cuts = []dataset.Cut{cut}
	}
	for _, g := range f.groups {
		cut.Record += g.Rows
		for _, c := range g.Chunks {
			cut.Byte += c.Size
		}
		file.Cuts = append(file.Cuts, cut)
	}
	first := o.Data.Schema.Layout.(*dataset.TableLayout)
	file.Memory = f.memory(first.UsedNames()) + 4*int64(len(first.Features))*int64(rowio.RowsPerBlock(len(first.Features)))
	return dataset.JoinStored(o, i, f.names, func(c int) error {
		_, err := f.columns[c].putFunc()
		return err
	})
}

package imageio

import (
	"context"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
)

func init() {
	dataset.Register(CIFAR10.format("cifar10", func(head []byte, size int64) dataset.Likeness {
		return dataset.Likely.If(CIFAR10.plausible(head, size))
	}))
	// What looks like two labels may be one label and a pixel.
	dataset.Register(CIFAR100Fine.format("cifar100", func([]byte, int64) dataset.Likeness { return dataset.Unlike }))
}

func (l CIFARLayout) format(name string, sniff func([]byte, int64) dataset.Likeness) dataset.Format {
	return dataset.Format{
		Name: name, Package: "cifario",
		Traits: dataset.Traits{Scale: "255", Faint: true, Image: func(*dataset.Schema) rows.Image {
			return rows.Image{Height: 32, Width: 32, Channels: 3, Planar: true}
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
func (l CIFARLayout) join(_ context.Context, o *dataset.Opening, i int, _ []byte) (any, error) {
	f := &o.Data.Files[i]
	if f.Compressed() {
		return nil, nil
	}
	n, err := l.records(f.Size)
	if err != nil {
		return nil, o.Error(i, err)
	}
	f.Records, f.RecordBytes = n, int64(l.recordBytes())
	return nil, nil
}

func (l CIFARLayout) read(ctx context.Context, in *dataset.Input) (rows.Reader, error) {
	r, count, err := in.Records(ctx)
	if err != nil {
		return nil, err
	}
	return NewCIFARReader(r, l, in.Shard.Start, count), nil
}

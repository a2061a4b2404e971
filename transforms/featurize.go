package transforms

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/profile"
)

func init() { beam.RegisterDoFn(reflect.TypeFor[*featurizeFn]()) }

// partValues is the largest number of features in one file: 16 Mi numbers, 64 MiB.
const partValues = 16 << 20

// Codes is the format for the hashes of a features.Hasher, which are written as npy files.
const Codes = "codes"

// Featurize is a pass that writes features.
type Featurize struct {
	Pass
	Recipe features.Sealed `json:"recipe"`
	Out    string          `json:"out,omitempty"`
	Format string          `json:"format"` // a format of package export, or Codes
}

// Recipes returns the recipe.
func (p *Featurize) Recipes() []*features.Sealed { return []*features.Sealed{&p.Recipe} }

// SetOut sets the directory of the files.
func (p *Featurize) SetOut(dir string) { p.Out = dir }

// Write reads all rows of the pass that sc.Pass stores, and writes their features, in the order of the
// rows, to files of at most 64 MiB of numbers. If the pass has a Target, it also writes the labels: the index of the
// class, or the number. It returns the Written of each shard, in JSON.
func (*Featurize) Write(s beam.Scope, sc Scan) (written beam.PCollection) {
	s = s.Scope("transforms.Featurize")
	return sc.Apply(s, &featurizeFn{Splittable{Fn: Fn{Scan: sc}}})
}

type featurizeFn struct{ Splittable }

func (f *featurizeFn) ProcessElement(ctx context.Context, rt *sdf.LockRTracker, reader int, emit func([]byte)) error {
	return RunReader(ctx, f.Fn, reader, rt, func(r *Reader, p *Featurize) error {
		m, err := f.Worker.Map(p.Recipe)
		if err != nil {
			return err
		}
		return WriteShards(ctx, r, &p.Pass, p.Out, func(s dataset.Shard, source *dataset.Source,
			files *ShardFiles) (Written, error) {
			w := &featureWriter{files: files, reader: r, pass: p, shard: s, source: source, m: m}
			return w.write()
		}, emit)
	})
}

// featureWriter collects the features of a shard's rows until a file is full.
type featureWriter struct {
	files  *ShardFiles
	reader *Reader
	pass   *Featurize
	shard  dataset.Shard
	source *dataset.Source
	m      features.Map

	x       []float32 // features of n rows
	hashes  []uint64  // or their hashes
	y       []float64 // their labels
	n       int
	chunk   []float32
	written Written
}

// write writes the features or hashes of a shard, in files of at most partValues values.
func (w *featureWriter) write() (Written, error) {
	_, out := w.m.Dims()
	hasher, hashes := w.m.(features.Hasher)
	hashes = hashes && w.pass.Format == Codes
	if hashes {
		out = hasher.HashLen()
	}
	most := max(1, partValues/out)
	report, err := w.reader.Read(w.files.ctx, &w.pass.Pass, w.shard, w.source, w.pass.Target.Label(),
		func(_ profile.ShardStart, b *rowio.Block) error {
			for at := 0; at < b.N; {
				n := min(b.N-at, most-w.n)
				if hashes {
					w.hashes = append(w.hashes, make([]uint64, n*out)...)
					hasher.Hash(w.hashes[len(w.hashes)-n*out:], b.X[at*b.D:], n)
				} else {
					w.chunk = w.reader.Apply(w.m, w.chunk, b.X[at*b.D:], n)
					w.x = append(w.x, w.chunk[:n*out]...)
				}
				if len(b.Y) > 0 {
					k := len(b.Y) / b.N // of each row
					w.y = append(w.y, b.Y[at*k:(at+n)*k]...)
				}
				w.n += n
				at += n
				if w.n == most {
					if err := w.flush(); err != nil {
						return err
					}
				}
			}
			return nil
		})
	if err == nil {
		err = w.flush()
	}
	w.written.Report = report
	return w.written, err
}

// flush writes the collected rows as an output.
func (w *featureWriter) flush() error {
	if w.n == 0 {
		return nil
	}
	table := export.Block{N: w.n}
	columns := []export.Column{{Name: "features", List: true}}
	if w.hashes != nil {
		table.Values = append(table.Values, w.hashes)
		columns[0].Header = numbered(len(w.hashes) / w.n)
	} else {
		table.Values = append(table.Values, w.x)
		columns[0].Header = numbered(len(w.x) / w.n)
	}
	if len(w.y) > 0 {
		labels := export.Column{Name: "labels", Header: []string{"label"}}
		if names := w.pass.Data.Targets; len(names) > 0 {
			labels.Header, labels.Keys = nil, names
			for _, name := range names {
				labels.Header = append(labels.Header, "label_"+name)
			}
		}
		if c := w.pass.Target.Classes; c != nil {
			classes := make([]int32, w.n)
			for i, y := range w.y {
				classes[i] = int32(y)
			}
			labels.Levels, labels.Numeric = c.Classes, c.Numeric
			table.Values = append(table.Values, classes)
		} else {
			table.Values = append(table.Values, w.y)
		}
		columns = append(columns, labels)
	}
	format := w.pass.Format
	if format == Codes {
		format = "npy" // of the hashes
	}
	files, err := export.Files(format, columns)
	if err != nil {
		return err
	}
	output := WrittenOutput{Rows: int64(w.n)}
	for _, f := range files {
		name := fmt.Sprintf("%s-%04d%s", ShardName(w.shard), len(w.written.Outputs), f.Suffix)
		checksum, err := w.files.Create(name, func(dst io.Writer) error {
			out := f.New(dst)
			if err := out.Write(&table); err != nil {
				return err
			}
			return out.Close()
		})
		if err != nil {
			return err
		}
		output.Files = append(output.Files, WrittenFile{Name: name, Suffix: f.Suffix, Checksum: checksum})
	}
	w.written.Outputs = append(w.written.Outputs, output)
	w.x, w.y, w.hashes, w.n = w.x[:0], w.y[:0], w.hashes[:0], 0
	return nil
}

// numbered returns the names of n features: f1, f2, …
func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = "f" + strconv.Itoa(i+1)
	}
	return names
}

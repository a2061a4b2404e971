package transforms

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/io/rows"
)

func init() {
	beam.RegisterDoFn(reflect.TypeOf((*featurizeFn)(nil)))
}

// partValues bounds the features in one file: 16 Mi numbers, 64 MiB.
const partValues = 16 << 20

// Featurize reads all rows and writes their features, as Pass.Features says, in
// files of at most 64 MiB of numbers, in the order of the rows; with labels, if
// the pass has a Target: the index of the class, or the number. It returns what
// was Written for each shard, in JSON.
func Featurize(s beam.Scope, sc Scan) (written beam.PCollection) {
	s = s.Scope("transforms.Featurize")
	return sc.apply(s, &featurizeFn{Scan: sc})
}

type featurizeFn struct{ Scan Scan }

func (f *featurizeFn) ProcessElement(ctx context.Context, lane int, emit func([]byte)) error {
	p, err := loadPass(ctx, f.Scan.Pass)
	if err != nil {
		return asFault(Internal, err)
	}
	m, err := openMap(ctx, p.Features.Recipe)
	if err != nil {
		return asFault(Internal, err)
	}
	return asFault(Internal, f.Scan.writeShards(ctx, p, lane, p.Features.Out, func(s dataset.Shard, source *dataset.Source, files *outputs) (Written, error) {
		w := &featureWriter{files: files, pass: p, shard: s, source: source, m: m, threads: f.Scan.Threads}
		return w.write(f.Scan)
	}, emit))
}

// featureWriter gathers the features of a shard's rows until a file is full.
type featureWriter struct {
	files   *outputs
	pass    *Pass
	shard   dataset.Shard
	source  *dataset.Source
	m       features.Map
	threads int

	x       []float32 // features of n rows
	hashes  []uint64  // or their hashes
	y       []float64 // their labels
	n       int
	chunk   []float32
	written Written
}

func (w *featureWriter) write(sc Scan) (Written, error) {
	_, out := w.m.Dims()
	hasher, hashes := w.m.(features.Hasher)
	if hashes = hashes && w.pass.Features.Format == "codes"; hashes {
		out = hasher.HashLen()
	}
	most := max(1, partValues/out)
	report, err := sc.read(w.files.ctx, w.pass, w.shard, w.source, w.pass.Target.Label(), func(_ dataset.Shard, b *rows.Block) error {
		for at := 0; at < b.N; {
			n := min(b.N-at, most-w.n)
			if hashes {
				w.hashes = append(w.hashes, make([]uint64, n*out)...)
				hasher.Hash(w.hashes[len(w.hashes)-n*out:], b.X[at*b.D:], n)
			} else {
				w.chunk = applyMap(w.m, w.chunk, b.X[at*b.D:], n, w.threads)
				w.x = append(w.x, w.chunk[:n*out]...)
			}
			if len(b.Y) > 0 {
				w.y = append(w.y, b.Y[at:at+n]...)
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

// flush writes the gathered rows as a part.
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
	if len(w.y) == w.n {
		labels := export.Column{Name: "labels", Header: []string{"label"}}
		if c := w.pass.Target.Classes; c != nil {
			classes := make([]int32, w.n)
			for i, y := range w.y {
				classes[i] = int32(y)
			}
			labels.Levels = c.Classes
			table.Values = append(table.Values, classes)
		} else {
			table.Values = append(table.Values, w.y)
		}
		columns = append(columns, labels)
	}
	format := w.pass.Features.Format
	if format == "codes" {
		format = "npy" // of the hashes
	}
	files, err := export.Files(format, columns)
	if err != nil {
		return err
	}
	part := WrittenPart{Rows: int64(w.n)}
	for _, f := range files {
		name := fmt.Sprintf("%s-%04d%s", shardName(w.shard), len(w.written.Parts), f.Suffix)
		sum, err := w.files.create(name, func(dst io.Writer) error {
			out := f.New(dst)
			if err := out.Write(&table); err != nil {
				return err
			}
			return out.Close()
		})
		if err != nil {
			return err
		}
		part.Files = append(part.Files, WrittenFile{Name: name, Suffix: f.Suffix, Sum: sum})
	}
	w.written.Parts = append(w.written.Parts, part)
	w.x, w.y, w.hashes, w.n = w.x[:0], w.y[:0], w.hashes[:0], 0
	return nil
}

// numbered are the names of n features: f1, f2, …
func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = "f" + strconv.Itoa(i+1)
	}
	return names
}

package transforms

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/npyio"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/safetensors"
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
	_, out := w.m.Dims()
	part := WrittenPart{Rows: int64(w.n)}
	create := func(suffix string, write func(io.Writer) error) error {
		name := fmt.Sprintf("%s-%04d%s", shardName(w.shard), len(w.written.Parts), suffix)
		sum, err := w.files.create(name, write)
		part.Files = append(part.Files, WrittenFile{Name: name, Suffix: suffix, Sum: sum})
		return err
	}
	var err error
	switch w.pass.Features.Format {
	case "npy", "codes":
		err = create(".npy", func(dst io.Writer) error {
			if w.hashes != nil {
				return writeNPY(dst, w.hashes, w.n, len(w.hashes)/w.n)
			}
			return writeNPY(dst, w.x, w.n, out)
		})
		if err == nil && w.labeled() {
			err = create("-labels.npy", w.writeLabels)
		}
	case "safetensors":
		err = create(".safetensors", func(dst io.Writer) error {
			tensors := []safetensors.Tensor{safetensors.Of("features", w.x, w.n, out)}
			if w.labeled() {
				tensors = append(tensors, safetensors.Of("labels", w.y, w.n))
			}
			return safetensors.Write(dst, nil, tensors)
		})
	default:
		err = create(".csv", w.writeCSV)
	}
	w.written.Parts = append(w.written.Parts, part)
	w.x, w.y, w.hashes, w.n = w.x[:0], w.y[:0], w.hashes[:0], 0
	return err
}

func (w *featureWriter) labeled() bool { return len(w.y) == w.n }

func (w *featureWriter) isClass() bool { return w.pass.Target.Classes != nil }

func writeNPY[T npyio.Number](dst io.Writer, v []T, shape ...int) error {
	out, err := npyio.NewWriter[T](dst, shape...)
	if err != nil {
		return err
	}
	if err := out.Write(v); err != nil {
		return err
	}
	return out.Close()
}

// writeLabels writes the labels as an array: int32 for classes, else float64.
func (w *featureWriter) writeLabels(dst io.Writer) error {
	if !w.isClass() {
		return writeNPY(dst, w.y, w.n)
	}
	classes := make([]int32, w.n)
	for i, y := range w.y {
		classes[i] = int32(y)
	}
	return writeNPY(dst, classes, w.n)
}

// writeCSV writes a header f1,f2,…,label and a line for every row; the label of
// a class is its name.
func (w *featureWriter) writeCSV(dst io.Writer) error {
	_, out := w.m.Dims()
	c := csv.NewWriter(dst)
	record := make([]string, 0, out+1)
	for j := range out {
		record = append(record, "f"+strconv.Itoa(j+1))
	}
	if w.labeled() {
		record = append(record, "label")
	}
	for i := range w.n {
		if err := c.Write(record); err != nil {
			return err
		}
		record = record[:0]
		for _, v := range w.x[i*out : (i+1)*out] {
			record = append(record, formatScore(v))
		}
		if w.labeled() {
			label := strconv.FormatFloat(w.y[i], 'g', -1, 64)
			if w.isClass() {
				label = w.pass.Target.Classes.Classes[int(w.y[i])]
			}
			record = append(record, label)
		}
	}
	if err := c.Write(record); err != nil {
		return err
	}
	c.Flush()
	return c.Error()
}

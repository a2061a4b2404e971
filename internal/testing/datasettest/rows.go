// Package datasettest reads files in tests of formats.
package datasettest

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
)

// File writes a file in a new directory and returns its name.
func File(t testing.TB, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(name, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// Read reads the files in shards of about size bytes. A row is its values, and its label
// after a colon. A row that is set aside is its place in the file and the reason. Rows that
// are lost or read twice, and faults, fail the test.
func Read(t testing.TB, d *dataset.Dataset, size int64) (used, aside []string) {
	t.Helper()
	used, reports := read(d, d.Shards(size), nil)
	_, again := dataset.Tile(reports)
	for _, file := range again {
		t.Errorf("shards of %d bytes do not join in file %d", size, file)
	}
	lines, n := int64(0), int64(0)
	for _, r := range reports {
		if r.Fault != "" {
			t.Errorf("shards of %d bytes: fault %s", size, r.Fault)
		}
		lines += r.Lines - r.Blank
		n += r.Rows + r.Bad + r.Unlabeled + r.Weightless
		for _, s := range r.SetAside {
			aside = append(aside, strings.TrimPrefix(s.Position(), s.File+":")+": "+s.Reason)
		}
	}
	if lines != n && d.Schema.Format != "csv" { // a header is a line
		t.Errorf("shards of %d bytes: %d records, but %d rows", size, lines, n)
	}
	return used, aside
}

// read reads shards. With a Sink, it describes them.
func read(d *dataset.Dataset, shards []dataset.Shard, sink schema.Sink) (used []string, reports []dataset.Report) {
	for _, s := range shards {
		var labels []string
		q := dataset.Request{Mode: dataset.SkipRow, Lines: true, IDs: true, Describe: sink}
		if d.Labeled {
			q.Label = func(text []byte) (float64, string) {
				labels = append(labels, string(text))
				return float64(len(labels) - 1), ""
			}
		}
		r := d.ReadFrom(context.Background(), nil, s, q)
		var b rowio.Block
		for r.Next(&b) {
			for i := range b.N {
				text := fmt.Sprint(b.Row(i))
				if len(b.Y) > 0 {
					text += ":" + labels[int(b.Y[i])]
				}
				if len(b.Weights) > 0 {
					text += fmt.Sprint("*", b.Weights[i])
				}
				if len(b.IDs) > 0 {
					text += "#" + b.IDs[i]
				}
				used = append(used, text)
			}
		}
		reports = append(reports, r.Report())
		r.Close()
	}
	return used, reports
}

// Survey passes all fields to a Sink.
func Survey(t testing.TB, d *dataset.Dataset, size int64, sink schema.Sink) {
	t.Helper()
	_, reports := read(d, d.Shards(size), sink)
	for _, r := range reports {
		if r.Fault != "" || r.Bad > 0 {
			t.Errorf("%+v", r)
		}
	}
}

// Fuzz opens and reads a file of any content in several ways and fails if more memory is
// allocated than 8 times its size and 64 MiB, or if shards yield other rows than the whole
// file.
func Fuzz(t *testing.T, content []byte, o dataset.Options) {
	o.Files = []string{File(t, content)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := dataset.Open(context.Background(), o)
	if err == nil {
		whole, reports := sum(d, []dataset.Shard{dataset.Whole(0)})
		faulty := reports[0].Fault != ""
		for _, size := range []int64{1 + int64(len(content))/3, 1 << 30} {
			cut, reports := sum(d, d.Shards(size))
			for _, r := range reports {
				faulty = faulty || r.Fault != ""
			}
			if _, again := dataset.Tile(reports); !faulty && len(again) == 0 && cut != whole {
				t.Errorf("shards of %d bytes give other rows than the whole file", size)
			}
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(8*len(content)+64<<20) {
		t.Fatalf("%d bytes allocated for %d", n, len(content))
	}
}

// sum reads shards and returns hashes of their rows and of their labels, which are read a block ahead.
func sum(d *dataset.Dataset, shards []dataset.Shard) (hashes [2]uint64, reports []dataset.Report) {
	h, labels := fnv.New64a(), fnv.New64a()
	var x [4]byte
	for _, s := range shards {
		var label dataset.Label
		if d.Labeled {
			label = func(text []byte) (float64, string) {
				labels.Write(text)
				return 0, ""
			}
		}
		r := d.Read(context.Background(), s, label, dataset.SkipRow)
		var b rowio.Block
		for r.Next(&b) {
			for _, v := range b.X {
				binary.LittleEndian.PutUint32(x[:], math.Float32bits(v))
				h.Write(x[:])
			}
		}
		reports = append(reports, r.Report())
		r.Close()
	}
	return [2]uint64{h.Sum64(), labels.Sum64()}, reports
}

// Report reads a shard and returns its report.
func Report(d *dataset.Dataset, s dataset.Shard) dataset.Report {
	_, reports := read(d, []dataset.Shard{s}, nil)
	return reports[0]
}

// Fields is a Sink that keeps the values of fields: numbers as schema.AppendFloat writes
// them, texts in quotes, and null.
type Fields struct{ columns [][]string }

var _ schema.Sink = (*Fields)(nil)

func (f *Fields) keep(column int, value string) string {
	for len(f.columns) <= column {
		f.columns = append(f.columns, nil)
	}
	f.columns[column] = append(f.columns[column], value)
	return ""
}

// Text keeps a text.
func (f *Fields) Text(_ []float32, column int, text []byte) string {
	return f.keep(column, fmt.Sprintf("%q", text))
}

// Float keeps a number.
func (f *Fields) Float(_ []float32, column int, v float64) string {
	return f.keep(column, string(schema.AppendFloat(nil, v)))
}

// Null keeps a missing value.
func (f *Fields) Null(_ []float32, column int) string { return f.keep(column, "null") }

// Rows returns the values of the first columns, row by row.
func (f *Fields) Rows(columns int) (rows [][]string) {
	for i := range f.columns[0] {
		row := make([]string, columns)
		for c := range row {
			row[c] = f.columns[c][i]
		}
		rows = append(rows, row)
	}
	return rows
}

package dataset_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/bochner-ml/bochner/io/csvio"
	. "github.com/bochner-ml/bochner/io/dataset"
	_ "github.com/bochner-ml/bochner/io/formats"
	"github.com/bochner-ml/bochner/io/imageio"
	"github.com/bochner-ml/bochner/io/libsvmio"
	"github.com/bochner-ml/bochner/io/rowio"
)

// write writes a file below dir and returns its name.
func write(t testing.TB, dir, name string, content []byte) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return p
}

// Options of formats.
func headers(h csvio.Header) []FormatOptions { return []FormatOptions{csvio.Options{Header: h}} }
func labelFiles(patterns ...string) []FormatOptions {
	return []FormatOptions{&imageio.Options{LabelFiles: patterns}}
}
func dim(n int) []FormatOptions { return []FormatOptions{libsvmio.Options{Dim: n}} }

// Names of formats.
const CSV, TSV, LIBSVM, IDX, CIFAR10, CIFAR100 = "csv", "tsv", "libsvm", "idx", "cifar10", "cifar100"

// packings are the compressions of a stored file.
var packings = []string{"plain", "gzip", "zstd"}

func pack(t testing.TB, how string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	switch how {
	case "gzip":
		w := gzip.NewWriter(&b)
		w.Write(content)
		w.Close()
	case "zstd":
		w, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(content)
		w.Close()
	default:
		return content
	}
	return b.Bytes()
}

// idx returns an IDX file of float32 or uint8.
func idx(typ byte, dims []int, values []float32) []byte {
	b := []byte{0, 0, typ, byte(len(dims))}
	for _, d := range dims {
		b = binary.BigEndian.AppendUint32(b, uint32(d))
	}
	for _, v := range values {
		if typ == 0x08 {
			b = append(b, byte(v))
		} else {
			b = binary.BigEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	return b
}

// cifar returns n records of CIFAR-10, or with two labels of CIFAR-100.
func cifar(n, labels int) []byte {
	var b []byte
	for i := range n {
		for l := range labels {
			b = append(b, byte((i+l)%10))
		}
		for j := range 3072 {
			b = append(b, byte(7*i+j))
		}
	}
	return b
}

// open opens data and fails the test if that fails.
func open(t testing.TB, o Options) *Dataset {
	t.Helper()
	d, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// token converts a label's text to a number; different texts give different numbers.
func token(text []byte) (float64, string) {
	if len(text) == 0 {
		return 0, "has no label"
	}
	var h float64
	for _, c := range text {
		h = h*3 + float64(c)
	}
	return h, ""
}

// readShard returns the rows of a shard as text, one each, and the report.
func readShard(d *Dataset, s Shard, label Label, mode Mode) (out []string, report Report) {
	return drain(d.Read(context.Background(), s, label, mode))
}

// drain reads to the end and closes.
func drain(r *Reader) (out []string, report Report) {
	defer r.Close()
	var b rowio.Block
	for r.Next(&b) {
		for i := range b.N {
			row := b.Row(i)
			for len(row) > 0 && row[len(row)-1] == 0 && r.Dim() == 0 {
				row = row[:len(row)-1] // rows of unknown length differ in zeros
			}
			y := 0.0
			if len(b.Y) > 0 {
				y = b.Y[i]
			}
			out = append(out, fmt.Sprint(row, y))
		}
	}
	return out, r.Report()
}

// readAll reads shards one after the other.
func readAll(d *Dataset, shards []Shard, label Label, mode Mode) (out []string, reports []Report) {
	for _, s := range shards {
		text, r := readShard(d, s, label, mode)
		out = append(out, text...)
		reports = append(reports, r)
	}
	return out, reports
}

// csvText returns a table with everything that complicates lines: a byte-order mark and
// blank lines before the header, CRLF, blank lines, quotes, and no final newline.
func csvText(n int) string { return csvTextOf(n, func(i int) string { return fmt.Sprintf("a%d", i) }) }

// csvQuotedText is csvText with newlines in some fields.
func csvQuotedText(n int) string {
	return csvTextOf(n, func(i int) string {
		if i%7 == 3 {
			return fmt.Sprintf("\"a\n\n%d,\"\"9,9,9,9\n\"", i)
		}
		return fmt.Sprintf("a%d", i)
	})
}

func csvTextOf(n int, nameOf func(i int) string) string {
	var b strings.Builder
	b.WriteString("\ufeff\r\n \n")
	b.WriteString("x1,\"x 2\",name,y\r\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,%g,%s,%d", i, float64(i)/8, nameOf(i), i%3)
		switch {
		case i == n-1:
		case i%5 == 0:
			b.WriteString("\r\n\r\n")
		default:
			b.WriteString("\n")
		}
	}
	return b.String()
}

func libsvmText(n int) string {
	var b strings.Builder
	b.WriteString("# a comment\n")
	for i := range n {
		fmt.Fprintf(&b, "%d", i%4-1)
		for j := range i % 5 {
			fmt.Fprintf(&b, " %d:%g", 3*j+1+i%2, float64(i)+float64(j)/4)
		}
		b.WriteString("\n")
	}
	return b.String()
}

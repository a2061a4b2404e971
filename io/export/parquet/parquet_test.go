package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	reader "github.com/parquet-go/parquet-go"

	"github.com/bochner-ml/bochner/io/export"
)

// tableOf returns a table with a column of every type and n rows, some of them without values.
func tableOf(n int) ([]export.Column, *export.Block) {
	columns := []export.Column{
		{Name: "id", Header: []string{"id"}, Always: true},
		{Name: "line", Header: []string{"line"}, Always: true},
		{Name: "prediction", Header: []string{"prediction"}, Levels: []string{"no", "yes, indeed", "Größe"}},
		{Name: "whole", Header: []string{"whole"}, Levels: []string{"-1", "7"}, Numeric: true},
		{Name: "half", Header: []string{"half"}, Levels: []string{"0.5", "1"}, Numeric: true},
		{Name: "digits", Header: []string{"digits"}, Levels: []string{"1", "1.0"}, Numeric: true},
		{Name: "only", Header: []string{"only"}, Levels: []string{"one"}},
		{Name: "index", Header: []string{"index"}},
		{Name: "code", Header: []string{"code"}},
		{Name: "scores", Header: []string{"score_no", "score_yes"}, Keys: []string{"no", "yes"}},
		{Name: "targets", Header: []string{"target"}},
	}
	b := &export.Block{N: n, Values: []any{[]string(nil), []int64(nil), []int32(nil), []int32(nil), []int32(nil),
		[]int32(nil), []int32(nil), []int32(nil), []uint64(nil), []float32(nil), []float64(nil)}}
	add(b, 0, func(i int) string { return fmt.Sprintf("row %d", i*i) })
	add(b, 1, func(i int) int64 { return int64(i) + 1<<40 })
	for c, k := range map[int]int{2: 3, 3: 2, 4: 2, 5: 2, 6: 1, 7: 1000} {
		add(b, c, func(i int) int32 { return int32(i * i % 11 % k) })
	}
	add(b, 8, func(i int) uint64 { return math.MaxUint64 - uint64(i) })
	add(b, 9, func(i int) float32 { return float32(i) / 3 })
	add(b, 9, func(i int) float32 { return -float32(i) / 7 })
	b.Values[9] = interleaved(b.Values[9].([]float32))
	add(b, 10, func(i int) float64 { return math.Pi * float64(i) })
	for i := range n {
		if i%10 == 3 || i >= 40 && i < 60 {
			b.Bad = append(b.Bad, i)
		}
	}
	return columns, b
}

func add[T any](b *export.Block, c int, value func(i int) T) {
	v, _ := b.Values[c].([]T)
	for i := range b.N {
		v = append(v, value(i))
	}
	b.Values[c] = v
}

// interleaved turns two columns, one after the other, into rows.
func interleaved(v []float32) []float32 {
	var out []float32
	for i := range len(v) / 2 {
		out = append(out, v[i], v[len(v)/2+i])
	}
	return out
}

// cut returns the rows from..to of a block.
func cut(columns []export.Column, b *export.Block, from, to int) *export.Block {
	out := &export.Block{N: to - from}
	for c, v := range b.Values {
		k := len(columns[c].Header)
		switch v := v.(type) {
		case []string:
			out.Values = append(out.Values, v[from*k:to*k])
		case []int64:
			out.Values = append(out.Values, v[from*k:to*k])
		case []int32:
			out.Values = append(out.Values, v[from*k:to*k])
		case []uint64:
			out.Values = append(out.Values, v[from*k:to*k])
		case []float32:
			out.Values = append(out.Values, v[from*k:to*k])
		case []float64:
			out.Values = append(out.Values, v[from*k:to*k])
		}
	}
	for _, i := range b.Bad {
		if i >= from && i < to {
			out.Bad = append(out.Bad, i-from)
		}
	}
	return out
}

// written returns the file of a table that comes in blocks of some size.
func written(t *testing.T, columns []export.Column, b *export.Block, block, limit int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := newWriter(&out, columns, limit)
	for from := 0; from < b.N; from += block {
		if err := w.Write(cut(columns, b, from, min(b.N, from+block))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// texts returns a file's columns and values, read by another library.
func texts(t *testing.T, data []byte) (groups int, names []string, rows [][]string) {
	t.Helper()
	f, err := reader.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range f.Schema().Fields() {
		names = append(names, field.Name()+" "+field.Type().String())
	}
	for _, g := range f.RowGroups() {
		it := g.Rows()
		buf := make([]reader.Row, 64)
		for {
			n, err := it.ReadRows(buf)
			for _, row := range buf[:n] {
				var values []string
				for _, v := range row {
					values = append(values, v.String())
				}
				rows = append(rows, values)
			}
			if err != nil || n == 0 {
				break
			}
		}
		it.Close()
	}
	return len(f.RowGroups()), names, rows
}

func TestAnotherLibraryReadsEveryType(t *testing.T) {
	for _, n := range []int{1, 7, 8, 9, 300} {
		columns, b := tableOf(n)
		groups, names, got := texts(t, written(t, columns, b, 100, 400))
		want := []string{"id STRING", "line INT64", "prediction STRING", "whole INT64", "half DOUBLE", "digits STRING",
			"only STRING", "index INT32",
			"code INT(64,false)", "score_no FLOAT", "score_yes FLOAT", "target DOUBLE"}
		if d := cmp.Diff(want, names); d != "" {
			t.Fatal(d)
		}
		if n == 300 && groups < 2 {
			t.Errorf("%d row groups", groups)
		}
		var rows [][]string // the reader shows unsigned numbers with a sign
		level := func(c, i int) string { return columns[c].Levels[b.Values[c].([]int32)[i]] }
		for i := range n {
			row := []string{fmt.Sprintf("row %d", i*i), fmt.Sprint(i + 1<<40)}
			if slices.Contains(b.Bad, i) {
				for range 10 {
					row = append(row, "<null>")
				}
			} else {
				row = append(row, level(2, i), level(3, i), level(4, i), level(5, i), "one", fmt.Sprint(b.Values[7].([]int32)[i]),
					fmt.Sprint(-1-i), fmt.Sprint(float32(i)/3), fmt.Sprint(-float32(i)/7), fmt.Sprint(math.Pi*float64(i)))
			}
			rows = append(rows, row)
		}
		if d := cmp.Diff(rows, got); d != "" {
			t.Fatalf("%d rows: %s", n, d)
		}
	}
}

func TestBytesDependOnTheRowsOnly(t *testing.T) {
	columns, b := tableOf(500)
	b.Values[0].([]string)[211] = strings.Repeat("long ", 3000) // ends a row group early
	want := written(t, columns, b, 500, 10_000)
	for _, block := range []int{1, 3, 64, 211, 212, 499} {
		if !bytes.Equal(written(t, columns, b, block, 10_000), want) {
			t.Errorf("blocks of %d rows give other bytes", block)
		}
	}
}

func TestRowGroupsBoundMemory(t *testing.T) {
	columns := []export.Column{{Name: "features", Header: make([]string, 50), List: true}}
	for i := range columns[0].Header {
		columns[0].Header[i] = fmt.Sprint("f", i+1)
	}
	w := newWriter(&bytes.Buffer{}, columns, 10_000)
	if err := w.Write(&export.Block{N: 1000, Values: []any{make([]float32, 50_000)}}); err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, c := range w.columns {
		held += cap(c.plain)
	}
	if len(w.file.footer.Groups) != 20 || held > 20_000 {
		t.Errorf("%d row groups; %d bytes held", len(w.file.footer.Groups), held)
	}
}

// full is a place that takes a number of bytes.
type full int

var errFull = errors.New("full")

func (f *full) Write(p []byte) (int, error) {
	if len(p) > int(*f) {
		n := int(*f)
		*f = 0
		return n, errFull
	}
	*f -= full(len(p))
	return len(p), nil
}

func TestWriteErrorsAreReturned(t *testing.T) {
	columns, b := tableOf(20)
	size := len(written(t, columns, b, 100, 400))
	for room := range size {
		f := full(room)
		w := newWriter(&f, columns, 400)
		if err := errors.Join(w.Write(b), w.Close()); !errors.Is(err, errFull) {
			t.Fatalf("room for %d of %d bytes: %v", room, size, err)
		}
	}
	w := newWriter(&bytes.Buffer{}, columns[:1], 4000)
	if err := w.Write(&export.Block{N: 1, Values: []any{[]bool{true}}}); err == nil {
		t.Error("an unknown type of values is written")
	}
}

func TestNumericClassesKeepTheirDigits(t *testing.T) {
	for _, levels := range [][]string{{"2", "12345678901234567891"}, {"2", "9007199254740993"},
		{"-0.5", "9007199254740993"}, {"1e-07", "0.25"}} {
		columns := []export.Column{{Name: "class", Header: []string{"class"}, Levels: levels, Numeric: true}}
		_, names, got := texts(t, written(t, columns, &export.Block{N: 2, Values: []any{[]int32{0, 1}}}, 2, 1000))
		if d := cmp.Diff([][]string{levels[:1], levels[1:]}, got); d != "" {
			t.Errorf("%v: %s", names, d)
		}
	}
}

package parquetio

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
)

// The same numbers as columns, and as lists in three ways of storing them.
type (
	flat struct {
		E0 float32 `parquet:"e_0"`
		E1 float32 `parquet:"e_1"`
		E2 float32 `parquet:"e_2"`
		Z  float64 `parquet:"z"`
	}
	listed struct {
		E []float32 `parquet:"e,list"`
		Z float64   `parquet:"z"`
	}
	optional struct {
		E []*float32 `parquet:"e,list,optional"`
		Z float64    `parquet:"z"`
	}
	bare struct {
		E []float32 `parquet:"e"`
		Z float64   `parquet:"z"`
	}
)

func fileOf[T any](t *testing.T, all []T, group int, o ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, o...)
	for part := range slices.Chunk(all, group) {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// rowsOf reads all rows of a file, and what is set aside.
func rowsOf(t *testing.T, o dataset.Options, file []byte) (columns, found, aside []string) {
	t.Helper()
	d, err := open(t, o, file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range d.Shards(1) {
		r := d.Read(t.Context(), s, nil, dataset.SkipRow)
		for b := new(rowio.Block); r.Next(b); {
			for i := range b.N {
				found = append(found, fmt.Sprint(b.Row(i)))
			}
		}
		report := r.Report()
		if r.Close(); report.Fault != "" {
			t.Fatal(report.Fault)
		}
		for _, a := range report.SetAside {
			aside = append(aside, fmt.Sprintf("%d:%d: %s", a.Line, a.Column, a.Reason))
		}
	}
	return d.Schema.Columns, found, aside
}

func TestListsAreColumns(t *testing.T) {
	const n = 3000 // more than a batch
	var plain []flat
	var lists []listed
	var nulls []optional
	var repeats []bare
	for i := range n {
		e := []float32{float32(i) / 8, -float32(i), 0.1}
		z := float64(i) * 1.1
		plain = append(plain, flat{e[0], e[1], e[2], z})
		lists = append(lists, listed{e, z})
		nulls = append(nulls, optional{[]*float32{&e[0], &e[1], &e[2]}, z})
		repeats = append(repeats, bare{e, z})
	}
	columns, want, _ := rowsOf(t, dataset.Options{}, fileOf(t, plain, n))
	for _, o := range [][]parquet.WriterOption{nil, {parquet.DataPageVersion(1)}, {parquet.PageBufferSize(300)},
		{parquet.Compression(&parquet.Zstd), parquet.DataPageVersion(1), parquet.PageBufferSize(1000)}} {
		for name, file := range map[string][]byte{"lists": fileOf(t, lists, 700, o...), "nulls": fileOf(t, nulls, n, o...),
			"repeated": fileOf(t, repeats, 700, o...)} {
			got, found, aside := rowsOf(t, dataset.Options{}, file)
			if !slices.Equal(got, columns) || !slices.Equal(found, want) || len(aside) > 0 {
				t.Errorf("%s: columns %v, %d rows, set aside %v", name, got, len(found), aside)
			}
		}
	}
	got, found, _ := rowsOf(t, dataset.Options{Drop: []string{"e_0", "z"}}, fileOf(t, lists, 700))
	if !slices.Equal(got, []string{"e_1", "e_2"}) || found[7] != "[-7 0.1]" {
		t.Errorf("two elements: %v, %v", got, found[7])
	}
	if got, _, _ := rowsOf(t, dataset.Options{Drop: []string{"e"}}, fileOf(t, lists, 700)); !slices.Equal(got,
		[]string{"z"}) {
		t.Errorf("without the list: %v", got)
	}
}

func TestListsOfAnotherLengthAreSetAside(t *testing.T) {
	var all []optional
	for i := range 60 {
		e := []float32{float32(i), 1, 2}
		all = append(all, optional{[]*float32{&e[0], &e[1], &e[2]}, 5})
	}
	all[3].E = all[3].E[:1]
	all[9].E = append(all[9].E, all[9].E[0])
	all[20].E[1] = nil
	all[30].E = nil
	_, found, aside := rowsOf(t, dataset.Options{}, fileOf(t, all, 60))
	want := []string{`4:1: column "e_0": has a list of 1 value, want 3`, `10:1: column "e_0": has a list of 4 values, want 3`,
		`21:2: column "e_1": is missing`, `31:1: column "e_0": is missing`}
	if len(found) != 56 || !slices.Equal(aside, want) {
		t.Errorf("%d rows, set aside %q, want %q", len(found), aside, want)
	}
}

func TestOtherListsAreNotColumns(t *testing.T) {
	type row struct {
		Texts []string  `parquet:"texts,list"`
		Any   []float64 `parquet:"any,list"`
		Z     float64   `parquet:"z"`
	}
	var all []row
	for i := range 40 {
		all = append(all, row{[]string{"a"}, make([]float64, 1+i%2), 1})
	}
	file := fileOf(t, all, 40)
	if _, err := open(t, dataset.Options{}, file); err == nil || !strings.Contains(err.Error(),
		`column "texts" is nested, or has lists of different lengths, or lists of values other than numbers`) {
		t.Error(err)
	}
	if got, _, _ := rowsOf(t, dataset.Options{Drop: []string{"texts", "any"}}, file); !slices.Equal(got, []string{"z"}) {
		t.Errorf("columns %v", got)
	}
}

// A damaged file of lists is an error, or other rows, and nothing else.
func FuzzLists(f *testing.F) {
	e := []listed{{[]float32{1, 2}, 3}, {[]float32{4, 5}, 6}, {nil, 7}}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[listed](&b, parquet.DataPageVersion(1))
	if _, err := w.Write(e); err != nil {
		f.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes(), 10, byte(1))
	f.Fuzz(func(t *testing.T, data []byte, at int, flip byte) {
		data = bytes.Clone(data)
		if len(data) > 0 {
			data[max(0, at)%len(data)] ^= flip
		}
		d, err := open(t, dataset.Options{}, data)
		if err != nil {
			return
		}
		for _, s := range d.Shards(1) {
			r := d.Read(t.Context(), s, nil, dataset.SkipRow)
			for b, n := new(rowio.Block), 0; r.Next(b) && n < 100; n++ {
			}
			r.Close()
		}
	})
}

package avroio

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/datasettest"
	"github.com/bochner-ml/bochner/io/dataset"
)

const schemaText = `{"type": "record", "name": "row", "namespace": "a.b", "fields": [
	{"name": "double", "type": "double"},
	{"name": "float", "type": ["null", "float"]},
	{"name": "tree", "type": {"type": "record", "name": "tree", "fields": [{"name": "left", "type": ["null", "tree"]}, {"name": "xs", "type": {"type": "array", "items": "long"}}]}},
	{"name": "long", "type": "long"},
	{"name": "truth", "type": "boolean"},
	{"name": "mixed", "type": ["null", "string", "long"]},
	{"name": "level", "type": {"type": "enum", "name": "level", "symbols": ["low", "high"]}},
	{"name": "again", "type": "a.b.level"},
	{"name": "day", "type": {"type": "int", "logicalType": "date"}},
	{"name": "stamp", "type": {"type": "long", "logicalType": "timestamp-micros"}},
	{"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2}},
	{"name": "map", "type": {"type": "map", "values": "string"}},
	{"name": "text", "type": "string"}
]}`

// binary writes of Avro.
func long(b []byte, v int64) []byte {
	u := uint64(v)<<1 ^ uint64(v>>63)
	for ; u >= 0x80; u >>= 7 {
		b = append(b, byte(u)|0x80)
	}
	return append(b, byte(u))
}

func words(b []byte, s string) []byte { return append(long(b, int64(len(s))), s...) }

func bits(b []byte, v uint64, n int) []byte {
	for range n {
		b = append(b, byte(v))
		v >>= 8
	}
	return b
}

// samples returns n records and the values of the columns that are not nested.
func samples(n int) (records [][]byte, want [][]string) {
	for i := range n {
		double, float := float64(i)*1.1, float32(i)*0.1
		b := bits(nil, math.Float64bits(double), 8)
		floatText := "null"
		if i%3 == 0 {
			b = long(b, 0)
		} else {
			b = bits(long(b, 1), uint64(math.Float32bits(float)), 4)
			floatText = fmt.Sprint(float)
		}
		// A tree of two nodes; arrays with and without the size of their blocks.
		b = long(b, 1)
		b = long(b, 0)
		b = long(long(long(long(b, -2), 2), 1), 2)
		b = long(b, 0)
		b = long(long(long(b, 1), int64(i)), 0)
		whole := int64(i) - 3
		if i > 50 {
			whole = math.MinInt64 + int64(i)
		}
		b = long(b, whole)
		b = append(b, byte(i%2))
		wholeText := fmt.Sprint(whole)
		if i > 50 {
			wholeText = fmt.Sprintf("%q", wholeText)
		}
		mixed := []string{"null", fmt.Sprintf(`"m%d"`, i), fmt.Sprint(i)}[i%3]
		switch b = long(b, int64(i%3)); i % 3 {
		case 1:
			b = words(b, fmt.Sprintf(" m%d ", i))
		case 2:
			b = long(b, int64(i))
		}
		b = long(long(b, int64(i%2)), int64(1-i%2))
		b = long(long(b, int64(i)), int64(i)*86400e6+500000)
		cents := int64(i) - 200
		b = append(long(b, 2), byte(cents>>8), byte(cents))
		b = long(words(words(long(b, 1), "k"), "v"), 0)
		b = words(b, fmt.Sprintf("text %d", i))
		records = append(records, b)
		levels := []string{`"low"`, `"high"`}
		day := fmt.Sprintf("1970-01-%02d", i+1)
		if i >= 31 {
			day = fmt.Sprintf("1970-02-%02d", i-30)
		}
		if i >= 59 {
			day = fmt.Sprintf("1970-03-%02d", i-58)
		}
		want = append(want, []string{
			strings.Trim(fmt.Sprint(double), "+"), floatText, wholeText, fmt.Sprintf("%q",
				fmt.Sprint(i%2 == 1)), mixed, levels[i%2], levels[1-i%2],
			fmt.Sprintf("%q", day), fmt.Sprintf("%q", day+" 00:00:00.5"), fmt.Sprintf(`"%.2f"`,
				float64(cents)/100), fmt.Sprintf(`"text %d"`, i),
		})
	}
	return records, want
}

// write writes records in blocks of some.
func write(t testing.TB, records [][]byte, block int, options ...ocf.WriterOpt) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := ocf.NewWriter(&b, avro.MustParse(schemaText), append(options, ocf.WithBlockCount(block))...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if _, err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(t testing.TB, o dataset.Options, files ...[]byte) (*dataset.Dataset, error) {
	t.Helper()
	o.Files = nil
	for _, file := range files {
		o.Files = append(o.Files, datasettest.File(t, file))
	}
	return dataset.Open(context.Background(), o)
}

var codecs = map[string][]ocf.WriterOpt{
	"null": nil, "deflate": {ocf.WithCodec(ocf.DeflateCodec(6))}, "snappy": {ocf.WithCodec(ocf.SnappyCodec())},
	"zstandard": {ocf.WithCodec(ocf.MustZstdCodec(nil, nil))},
}

var flat = dataset.Options{Drop: []string{"tree", "map"}}

func TestEveryTypeAndCodecIsReadInShards(t *testing.T) {
	records, want := samples(80)
	for name, options := range codecs {
		for _, block := range []int{1, 7, 1000} {
			file := write(t, records, block, options...)
			d, err := open(t, flat, file)
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int64{1, 100, 777, 1 << 20} {
				if size == 1 && block != 7 {
					continue
				}
				if !campaign.Whole() && name != "null" && (block != 7 || size == 100) {
					continue // each codec, size of blocks and of shards, but not all combinations
				}
				var got datasettest.Fields
				datasettest.Survey(t, d, size, &got)
				if diff := cmp.Diff(want, got.Rows(len(want[0]))); diff != "" {
					t.Fatalf("%s, blocks of %d records, shards of %d bytes: %.2000s", name, block, size, diff)
				}
			}
		}
	}
}

func TestBadRowsHaveTheirRecordNumber(t *testing.T) {
	records, _ := samples(80)
	d, err := open(t, dataset.Options{Columns: []string{"double", "float"}, Label: "level",
		Roles: dataset.Roles{ID: "text"}},
		write(t, records, 9))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{300, 1 << 20} {
		used, aside := datasettest.Read(t, d, size)
		if len(used) != 53 || used[0] != "[1.1 0.1]:high#text 1" || len(aside) != 27 ||
			aside[26] != `79:2: column "float": is missing` {
			t.Errorf("shards of %d bytes: %d rows, %q", size, len(used), aside)
		}
	}
}

func TestFilesMayHaveDifferentColumns(t *testing.T) {
	records, _ := samples(3)
	d, err := open(t, dataset.Options{Columns: []string{"double", "long"}, Label: "level"}, write(t, records, 2))
	if err != nil {
		t.Fatal(err)
	}
	other := `{"type": "record", "name": "r", "fields": [{"name": "long", "type": "int"}, {"name": "new", "type": {"type": "map", "values": "int"}}, {"name": "double", "type": "string"}]}`
	var b bytes.Buffer
	w, err := ocf.NewWriter(&b, avro.MustParse(other))
	if err == nil {
		_, err = w.Write(words(long(long(nil, 7), 0), "2.5"))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if d, err = open(t, dataset.Options{Like: &d.Schema}, b.Bytes()); err != nil {
		t.Fatal(err)
	}
	if used, _ := datasettest.Read(t, d, 1<<20); !slices.Equal(used, []string{"[2.5 7]"}) {
		t.Error(used)
	}
}

func TestDamageAndNestedColumnsAreNamed(t *testing.T) {
	records, _ := samples(40)
	whole := write(t, records, 10)
	for name, c := range map[string]struct {
		file []byte
		o    dataset.Options
		want string
	}{
		"nested": {whole, dataset.Options{},
			`column "tree" is nested, or has lists of different lengths, or lists of values other than numbers, which is not supported; flatten it, or drop the column`},
		"header": {whole[:50], flat, "its header is damaged, cut off"},
		"codec": {bytes.Replace(write(t, records, 10, codecs["deflate"]...), []byte("\x0edeflate"), []byte("\x0edeflata"),
			1), flat, `is compressed with "deflata", which is not supported`},
		"no JSON": {bytes.Replace(whole, []byte(`{"`), []byte(`{{`), 1), flat, "its schema is not JSON"},
	} {
		if _, err := open(t, c.o, c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-5] ^= 1
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"cut":    {whole[:len(whole)-100], "ends inside a block (truncated file?)"},
		"marker": {flipped, "after record 30: a block is damaged"},
	} {
		d, err := open(t, flat, c.file)
		if err != nil {
			t.Fatal(err)
		}

		if r := datasettest.Report(d, dataset.Whole(0)); !strings.Contains(r.Fault, "/data: ") ||
			!strings.Contains(r.Fault, c.want) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

const listSchema = `{"type": "record", "name": "row", "fields": [
	{"name": "e", "type": {"type": "array", "items": ["null", "float"]}}, {"name": "z", "type": "long"},
	{"name": "f", "type": ["null", {"type": "array", "items": "int"}]}]}`

// lists returns a file of lists: e of three numbers, z, and f of two, in blocks of n records.
func lists(t testing.TB, n int, es [][]float32) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := ocf.NewWriter(&b, avro.MustParse(listSchema), ocf.WithBlockCount(n))
	for i, e := range es {
		var record []byte
		if len(e) > 0 && i%2 == 0 { // with the size of the block, and in two blocks
			record = long(long(nil, -1), 5)
			record = bits(long(record, 1), uint64(math.Float32bits(e[0])), 4)
			e = e[1:]
		}
		if len(e) > 0 {
			record = long(record, int64(len(e)))
		}
		for _, v := range e {
			if v != v {
				record = long(record, 0)
			} else {
				record = bits(long(record, 1), uint64(math.Float32bits(v)), 4)
			}
		}
		record = long(long(record, 0), int64(i))
		if i == 1 {
			record = long(record, 0)
		} else {
			record = long(long(long(long(long(record, 1), 2), int64(10*i)), -7), 0)
		}
		if err == nil {
			_, err = w.Write(record)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestListsAreColumns(t *testing.T) {
	nan := float32(math.NaN())
	var es [][]float32
	for i := range 30 {
		es = append(es, []float32{float32(i), 0.1, -3})
	}
	es[5], es[6], es[7] = es[5][:2], append(es[6], 1), []float32{1, nan, 3}
	file, empty := lists(t, 15, es), lists(t, 15, nil)
	for _, size := range []int64{1 << 20, 50} {
		d, err := open(t, dataset.Options{}, file, empty)
		if err != nil {
			t.Fatal(err)
		}
		used, aside := datasettest.Read(t, d, size)
		want := []string{`2:5: column "f_0": is missing`, `6:1: column "e_0": has a list of 2 values, want 3`,
			`7:1: column "e_0": has a list of 4 values, want 3`, `8:2: column "e_1": is missing`}
		if strings.Join(d.Schema.Columns, " ") != "e_0 e_1 e_2 z f_0 f_1" || len(used) != 26 || used[1] != "[2 0.1 -3 2 20 -7]" ||
			!slices.Equal(aside, want) {
			t.Errorf("shards of %d bytes: columns %v, %d rows %q, set aside %q", size, d.Schema.Columns, len(used), used, aside)
		}
	}
	d, err := open(t, dataset.Options{Columns: []string{"z", "f_1"}}, file)
	if err != nil {
		t.Fatal(err)
	}
	if used, aside := datasettest.Read(t, d, 50); len(used) != 29 || used[0] != "[0 -7]" || len(aside) != 1 {
		t.Errorf("%q, set aside %q", used, aside) // lists that are not used may have any length
	}
	es[3], es[9] = es[3][:1], make([]float32, 12)
	if _, err := open(t, dataset.Options{}, lists(t, 15, es)); err == nil || !strings.Contains(err.Error(),
		`column "e" is nested, or has lists of different lengths`) {
		t.Error(err)
	}
}

func FuzzAvro(f *testing.F) {
	records, _ := samples(6)
	for _, options := range codecs {
		f.Add(write(f, records, 4, options...))
	}
	f.Add(lists(f, 2, [][]float32{{1, 2}, {3, 4}, {5}}))
	f.Fuzz(func(t *testing.T, file []byte) {
		datasettest.Fuzz(t, file, dataset.Options{Format: "avro", Drop: []string{"tree", "map"}, Label: "level"})
		datasettest.Fuzz(t, file, dataset.Options{Format: "avro"})
	})
}

package parquetio

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/datasettest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
)

// every is a row with a column of each supported type and encoding.
type every struct {
	Double   float64   `parquet:"double"`
	Split    float64   `parquet:"split,split"`
	Float    float32   `parquet:"float"`
	Missing  *float64  `parquet:"missing,optional"`
	Int      int64     `parquet:"int,delta"`
	Small    int32     `parquet:"small,optional"`
	Unsigned uint32    `parquet:"unsigned"`
	Truth    bool      `parquet:"truth"`
	Text     string    `parquet:"text"`
	Level    *string   `parquet:"level,optional,dict"`
	Front    string    `parquet:"front,delta"`
	Date     int32     `parquet:"date,date"`
	Stamp    time.Time `parquet:"stamp,timestamp(microsecond)"`
	Price    int64     `parquet:"price,decimal(2:10)"`
	Number   int32     `parquet:"number,dict"`
	ID       [16]byte  `parquet:"id,uuid"`
	List     []int64   `parquet:"list"`
}

// samples returns n rows and their values as text.
func samples(n int) (rows []every, want [][]string) {
	for i := range n {
		r := every{
			Double: float64(i) * 1.1, Split: -math.Pi * float64(i), Float: float32(i) * 0.1, Int: int64(i)*int64(i) - 50,
			Small:    int32(-i),
			Unsigned: math.MaxUint32 - uint32(i), Truth: i%3 == 0, Text: fmt.Sprintf(" text %d",
				i), Front: fmt.Sprintf("front/%06d", i/2),
			Date: int32(i), Stamp: time.Unix(int64(i)*3600,
				500000).UTC(), Price: int64(i) - 5, Number: int32(i % 7), ID: [16]byte{byte(i), 15: 1}, List: make([]int64, i%3),
		}
		if i > 100 {
			r.Int = math.MaxInt64 - int64(i)
		}
		missing, level := "null", "null"
		if i%5 != 0 {
			v := float64(i) / 4
			r.Missing, missing = &v, fmt.Sprint(v)
		}
		if i%4 != 1 {
			s := fmt.Sprintf("level-%d", i%6)
			r.Level, level = &s, fmt.Sprintf("%q", s)
		}
		date := time.Unix(int64(i)*86400, 0).UTC().Format("2006-01-02")
		number := func(v float64) string { return string(schema.AppendFloat(nil, v)) }
		whole := fmt.Sprint(r.Int)
		if r.Int > 1<<53 {
			whole = fmt.Sprintf("%q", whole)
		}
		small := fmt.Sprint(r.Small)
		if r.Small == 0 {
			small = "null" // as the writer stores zero values of optional fields
		}
		price := fmt.Sprintf("%.2f", float64(r.Price)/100)
		rows = append(rows, r)
		want = append(want, []string{
			number(r.Double), number(r.Split), trimFloat(r.Float), missing, whole, small, fmt.Sprint(r.Unsigned),
			fmt.Sprintf("%q", fmt.Sprint(r.Truth)),
			fmt.Sprintf("%q", strings.TrimSpace(r.Text)), level, fmt.Sprintf("%q", r.Front), fmt.Sprintf("%q", date),
			fmt.Sprintf("%q", r.Stamp.Format("2006-01-02 15:04:05.999999999")), fmt.Sprintf("%q", price), fmt.Sprint(r.Number),
			fmt.Sprintf(`"%02x000000-0000-0000-0000-000000000001"`, r.ID[0]),
		})
	}
	return rows, want
}

func trimFloat(v float32) string { return fmt.Sprint(v) }

// write writes rows in groups of some size.
func write(t testing.TB, rows []every, group int, options ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[every](&b, options...)
	for len(rows) > 0 {
		n := min(group, len(rows))
		if _, err := w.Write(rows[:n]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		rows = rows[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(t testing.TB, o dataset.Options, files ...[]byte) (*dataset.Dataset, error) {
	t.Helper()
	for _, b := range files {
		o.Files = append(o.Files, datasettest.File(t, b))
	}
	return dataset.Open(context.Background(), o)
}

func TestEveryTypeEncodingAndCodecIsRead(t *testing.T) {
	rows, want := samples(1300)
	for _, version := range []int{1, 2} {
		for name, codec := range map[string]compress.Codec{"none": &parquet.Uncompressed, "snappy": &parquet.Snappy,
			"gzip": &parquet.Gzip, "zstd": &parquet.Zstd, "lz4": &parquet.Lz4Raw, "brotli": &parquet.Brotli} {
			for _, page := range []int{500, 1 << 20} {
				if !campaign.Whole() && version == 1 && (page > 500 || name != "none" && name != "snappy") {
					continue // each codec, version and size of pages, but not all combinations
				}
				file := write(t, rows, 1100, parquet.Compression(codec), parquet.DataPageVersion(version),
					parquet.PageBufferSize(page))
				d, err := open(t, dataset.Options{Drop: []string{"list"}}, file)
				if err != nil {
					t.Fatal(err)
				}
				for _, size := range []int64{1, 1 << 30} {
					var got datasettest.Fields
					datasettest.Survey(t, d, size, &got)
					if diff := cmp.Diff(want, got.Rows(len(want[0]))); diff != "" {
						t.Fatalf("version %d, %s, pages of %d bytes, shards of %d: %.2000s", version, name, page, size, diff)
					}
				}
			}
		}
	}
}

func TestRowGroupsAreShards(t *testing.T) {
	rows, _ := samples(1000)
	file := write(t, rows, 100)
	d, err := open(t, dataset.Options{Columns: []string{"double", "float", "small", "number"}, Label: "truth",
		Roles: dataset.Roles{ID: "text"}}, file)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(d.Shards(1)); n != 10 || d.Files[0].Records != 1000 {
		t.Errorf("%d shards of %d rows", n, d.Files[0].Records)
	}
	var first []string
	for _, size := range []int64{1 << 30, 20_000, 1} {
		used, aside := datasettest.Read(t, d, size)
		if first == nil {
			first = used
		}
		if !slices.Equal(used, first) || len(used) != 999 || used[0] != "[1.1 0.1 -1 1]:false# text 1" {
			t.Errorf("shards of %d bytes: %d rows, the first %s", size, len(used), used[0])
		}
		if !slices.Equal(aside, []string{`1:6: column "small": is missing`}) {
			t.Errorf("shards of %d bytes: %q", size, aside)
		}
	}
	var bytes int64
	for _, s := range d.Shards(1) {
		bytes += d.Bytes(s)
	}
	if bytes <= int64(len(file))/2 || bytes > int64(len(file)) {
		t.Errorf("shards of %d bytes in a file of %d", bytes, len(file))
	}
}

// emptyOfArrow is a file as Arrow's C++ writer makes it for a table without rows, columns double and
// truth: it has a row group, whose columns are said to begin at byte 0.
const emptyOfArrow = "PAR1\x15\x04\x15\x00\x15\x02L\x15\x00\x15\x00\x12\x00\x00\x00\x15\x04\x19<5\x00\x18\x06schema\x15\x04\x00\x15\x0a%\x02\x18\x06double\x00" +
	"\x15\x00%\x02\x18\x05truth\x00\x16\x00\x19\x1c\x19,&\x00\x1c\x15\x0a\x19%\x00\x06\x19\x18\x06double\x15\x02\x16\x00\x16\x1c\x16\x1e&\x00&\x08)\x1c\x15\x04\x15\x00\x15\x02\x00\x00\x00&\x00\x1c\x15\x00\x19\x15\x06\x19\x18\x05truth\x15\x02\x16\x00\x16\x00\x16\x00&\x00I\x0c\x00\x00\x16\x1c\x16\x00&\x08\x16\x1e\x00(" +
	" parquet-cpp-arrow version 26.0.1\x19,\x1c\x00\x00\x1c\x00\x00\x00\xab\x00\x00\x00PAR1"

// A file without rows, as Spark and Arrow write for an empty partition, adds nothing to the others, at any
// position among them.
func TestEmptyFileAddsNoRows(t *testing.T) {
	rows, _ := samples(100)
	file := write(t, rows, 50)
	o := dataset.Options{Columns: []string{"double"}, Label: "truth"}
	whole, err := open(t, o, file)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := datasettest.Read(t, whole, 1)
	for _, files := range [][][]byte{{file, []byte(emptyOfArrow)}, {[]byte(emptyOfArrow), file}} {
		d, err := open(t, o, files...)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int64{1, 1 << 30} {
			if used, aside := datasettest.Read(t, d, size); !slices.Equal(used, want) || len(aside) > 0 {
				t.Errorf("%d rows, %q set aside, want %d rows", len(used), aside, len(want))
			}
		}
	}
	d, err := open(t, o, []byte(emptyOfArrow))
	if err == nil {
		if used, _ := datasettest.Read(t, d, 1); len(used) > 0 {
			t.Errorf("%d rows", len(used))
		}
	}
}

func TestTableDecodesDictionariesAndCounts(t *testing.T) {
	rows, _ := samples(600)
	file := write(t, rows, 200)
	d, err := open(t, dataset.Options{Columns: []string{"missing", "level", "date", "number"}}, file)
	if err != nil {
		t.Fatal(err)
	}
	d.Schema.SetTable(&schema.Table{Columns: []schema.Column{{Name: "missing", Type: schema.Number},
		{Name: "level", Type: schema.Category, Levels: []string{"level-0", "level-2", "level-4"}},
		{Name: "date", Type: schema.Time, Layout: "iso"}, {Name: "number", Type: schema.Category, Levels: []string{"3"}}}})
	used, aside := datasettest.Read(t, d, 1)
	if len(used) != 600 || len(aside) > 0 || used[0] != "[NaN 0 0 1 3 0 1]" || used[1] != "[0.25 NaN 1 1 4 0 1]" ||
		used[3] != "[0.75 3 3 1 6 0 0]" {
		t.Errorf("%d rows, %q, %q", len(used), aside, used[:4])
	}
	nulls, others := int64(0), int64(0)
	for _, s := range d.Shards(1) {
		r := datasettest.Report(d, s)
		nulls, others = nulls+r.Missing, others+r.Others
	}
	wantOthers := int64(0)
	for i := range 600 {
		if i%4 != 1 && i%6%2 == 1 {
			wantOthers++
		}
		if i%7 != 3 {
			wantOthers++
		}
	}
	if nulls != 120+150 || others != wantOthers {
		t.Errorf("%d missing, %d others, want %d", nulls, others, wantOthers)
	}
}

func TestColumnsThatCannotBeUsedAreNamed(t *testing.T) {
	rows, _ := samples(10)
	file := write(t, rows, 10)
	_, err := open(t, dataset.Options{}, file)
	if err == nil || !strings.Contains(err.Error(),
		`column "list" is nested, or has lists of different lengths, or lists of values other than numbers, which is not supported; `+
			`flatten it, or drop the column`) {
		t.Error(err)
	}
	if _, err := open(t, dataset.Options{Label: "dobule"}, file); err == nil ||
		!strings.Contains(err.Error(), `no column "dobule" (did you mean "double"?)`) {
		t.Error(err)
	}
}

func TestDamagedFilesAreNamed(t *testing.T) {
	rows, _ := samples(100)
	whole := write(t, rows, 50, parquet.Compression(&parquet.Snappy))
	o := dataset.Options{Columns: []string{"double", "level"}}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"cut":   {whole[:len(whole)-10], "does not end like a Parquet file (truncated?)"},
		"short": {[]byte("PAR1\x15"), "is too short"},
		"middle missing": {slices.Concat(whole[:20],
			whole[len(whole)-8-int(binary.LittleEndian.Uint32(whole[len(whole)-8:])):]), "is damaged"},
		"footer": {slices.Concat(whole[:len(whole)-60], bytes.Repeat([]byte{0xff}, 52), whole[len(whole)-8:]),
			"its footer"},
		"footer size": {slices.Concat(whole[:len(whole)-8], []byte("\xff\xff\xff\x7fPAR1")),
			"is damaged: its footer has 2147483655 bytes"},
	} {
		if _, err := open(t, o, c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want …%s…", name, err, c.want)
		}
	}
	if _, err := open(t, o, whole); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	for i := 4; i < 600; i++ {
		damaged[i] ^= 0x55
	}
	d, err := open(t, o, damaged)
	if err != nil {
		t.Fatal(err)
	}
	if r := datasettest.Report(d, dataset.Whole(0)); !strings.Contains(r.Fault, "/data: column \"double\": near row 1: ") {
		t.Errorf("%+v", r)
	}
}

func FuzzParquet(f *testing.F) {
	rows, _ := samples(12)
	for _, version := range []int{1, 2} {
		for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd,
			&parquet.Lz4Raw, &parquet.Brotli} {
			f.Add(write(f, rows, 7, parquet.Compression(codec), parquet.DataPageVersion(version)))
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		datasettest.Fuzz(t, file, dataset.Options{Format: "parquet", Drop: []string{"list"}, Label: "truth"})
		datasettest.Fuzz(t, file, dataset.Options{Format: "parquet"})
	})
}

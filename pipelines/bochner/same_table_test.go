package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
)

// plainRow is a row of numbers, typedRow one of values of all types.
type plainRow struct {
	A float64 `parquet:"a" json:"a" avro:"a"`
	B float64 `parquet:"b,split" json:"b" avro:"b"`
	C int64   `parquet:"c,delta" json:"c" avro:"c"`
	Y float64 `parquet:"y" json:"y" avro:"y"`
}

type typedRow struct {
	Key    string   `parquet:"key" json:"key" avro:"key"`
	Number *float64 `parquet:"number,optional" json:"number" avro:"number"`
	Count  int64    `parquet:"count,dict" json:"count" avro:"count"`
	Colour *string  `parquet:"colour,optional,dict" json:"colour" avro:"colour"`
	Truth  bool     `parquet:"truth" json:"truth" avro:"truth"`
	Day    day      `parquet:"day,date" json:"day" avro:"day"`
	Weight float64  `parquet:"weight" json:"weight" avro:"weight"`
	Y      string   `parquet:"y,dict" json:"y" avro:"y"`
}

// day counts from 1970; it is a date in all files.
type day int32

func (d day) String() string               { return time.Unix(int64(d)*86400, 0).UTC().Format("2006-01-02") }
func (d day) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// tables returns the content of files of all formats with columns that hold the same rows.
func tables[T any](t *testing.T, rows []T, header string, fields func(T) []string, schema string) map[string]string {
	t.Helper()
	files := map[string]string{}
	var text, packed, objects, groups, container bytes.Buffer
	w := csv.NewWriter(&text)
	w.Write(strings.Split(header, ","))
	j := json.NewEncoder(&objects)
	p := parquet.NewGenericWriter[T](&groups, parquet.Compression(&parquet.Zstd), parquet.DataPageVersion(2),
		parquet.PageBufferSize(400))
	a, err := ocf.NewWriter(&container, avro.MustParse(schema), ocf.WithCodec(ocf.SnappyCodec()), ocf.WithBlockCount(37))
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range rows {
		check(w.Write(fields(r)))
		check(j.Encode(r))
		check(a.Encode(r))
		_, err := p.Write([]T{r})
		check(err)
		if i%111 == 110 {
			check(p.Flush())
		}
	}
	w.Flush()
	check(p.Close())
	check(a.Close())
	z := gzip.NewWriter(&packed)
	z.Write(text.Bytes())
	check(z.Close())
	files["csv"], files["csv.gz"], files["jsonl"], files["parquet"], files["avro"] = text.String(), packed.String(),
		objects.String(), groups.String(), container.String()
	return files
}

func decimalOf(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// plainFiles returns a table of plainRow in files of all formats.
func plainFiles(t *testing.T, n int) map[string]string {
	rnd := rand.New(rand.NewPCG(3, 14))
	var rows []plainRow
	for range n {
		a := rnd.NormFloat64()
		// B is half way between two float32: its shortest decimal number lies on one side.
		f := float32(rnd.NormFloat64())
		b := (float64(f) + float64(math.Nextafter32(f, 9))) / 2
		rows = append(rows, plainRow{a, b, rnd.Int64N(1<<40) - 1<<39, a*a + rnd.NormFloat64()})
	}
	return tables(t, rows, "a,b,c,y", func(r plainRow) []string {
		return []string{decimalOf(r.A), decimalOf(r.B), fmt.Sprint(r.C), decimalOf(r.Y)}
	}, `{"type": "record", "name": "row", "fields": [{"name": "a", "type": "double"}, {"name": "b", "type": "double"},
		{"name": "c", "type": "long"}, {"name": "y", "type": "double"}]}`)
}

// typedRoles are the flags for columns of typedRow that are not features.
var typedRoles = []string{"--weight_column", "weight", "--id_column", "key"}

// typedFiles returns a table of typedRow in files of all formats.
func typedFiles(t *testing.T, n int) map[string]string {
	rnd := rand.New(rand.NewPCG(14, 3))
	var rows []typedRow
	for i := range n {
		r := typedRow{Key: fmt.Sprintf("row %d, \"%c\"", i, rune('α'+i%20)), Count: rnd.Int64N(7), Truth: rnd.IntN(2) > 0,
			Day: day(18000 + rnd.IntN(900)), Weight: float64(1 + rnd.IntN(3)), Y: "no"}
		if rnd.IntN(5) > 0 {
			v := rnd.NormFloat64() / 3
			r.Number = &v
		}
		if rnd.IntN(9) > 0 {
			s := []string{"red", "dark green", "grün", "x\ty"}[rnd.IntN(4)]
			r.Colour = &s
		}
		if rnd.NormFloat64()+float64(r.Count) > 3 != r.Truth {
			r.Y = "yes"
		}
		rows = append(rows, r)
	}
	return tables(t, rows, "key,number,count,colour,truth,day,weight,y", func(r typedRow) []string {
		missing, colour := "", ""
		if r.Number != nil {
			missing = decimalOf(*r.Number)
		}
		if r.Colour != nil {
			colour = *r.Colour
		}
		return []string{r.Key, missing, fmt.Sprint(r.Count), colour, fmt.Sprint(r.Truth), r.Day.String(),
			decimalOf(r.Weight), r.Y}
	}, `{"type": "record", "name": "row", "fields": [{"name": "key", "type": "string"}, {"name": "number", "type": ["null", "double"]},
			{"name": "count", "type": "long"}, {"name": "colour", "type": ["null", "string"]}, {"name": "truth", "type": "boolean"},
			{"name": "day", "type": {"type": "int", "logicalType": "date"}}, {"name": "weight", "type": "double"}, {"name": "y", "type": "string"}]}`)
}

// longRow is a row of whole numbers that float64 writes with an exponent, or does not hold.
type longRow struct {
	Card  int64   `parquet:"card" json:"card" avro:"card"`
	Shop  float64 `parquet:"shop" json:"shop" avro:"shop"`
	Owner int64   `parquet:"owner" json:"owner" avro:"owner"`
	A     float64 `parquet:"a" json:"a" avro:"a"`
	Y     int64   `parquet:"y" json:"y" avro:"y"`
}

var longRoles = []string{"--id_column", "card", "--categorical", "shop", "--group_column", "owner", "--search", "none"}

// longFiles returns a table of longRow in files of all formats.
func longFiles(t *testing.T, n int) map[string]string {
	rnd := rand.New(rand.NewPCG(14, 14))
	var rows []longRow
	for i := range int64(n) {
		shop := rnd.Int64N(5)
		r := longRow{4_539_000_000_000_000 + i, float64(1_000_000_000_000_000 * (shop + 1)), 1<<53 - 20 + rnd.Int64N(40),
			rnd.NormFloat64(), 1_234_567_890_123_456_781}
		if r.A+float64(shop) > 2 {
			r.Y += 8
		}
		rows = append(rows, r)
	}
	return tables(t, rows, "card,shop,owner,a,y", func(r longRow) []string {
		return []string{fmt.Sprint(r.Card), strconv.FormatFloat(r.Shop, 'f', -1, 64), fmt.Sprint(r.Owner), decimalOf(r.A),
			fmt.Sprint(r.Y)}
	}, `{"type": "record", "name": "row", "fields": [{"name": "card", "type": "long"}, {"name": "shop", "type": "double"}, {"name": "owner", "type": "long"},
		{"name": "a", "type": "double"}, {"name": "y", "type": "long"}]}`)
}

// listRow is a row with lists of three numbers and of two.
type listRow struct {
	E []float64  `parquet:"e,list" json:"e" avro:"e"`
	Z int64      `parquet:"z" json:"z" avro:"z"`
	F []*float64 `parquet:"f,list,optional" json:"f" avro:"f"`
	Y float64    `parquet:"y" json:"y" avro:"y"`
}

// listFiles returns a table of listRow in files of all formats; CSV has a column for each element.
func listFiles(t *testing.T, n int) map[string]string {
	rnd := rand.New(rand.NewPCG(15, 3))
	var rows []listRow
	for range n {
		e, f := []float64{rnd.NormFloat64(), rnd.NormFloat64(), float64(rnd.Int64N(50))}, rnd.NormFloat64()
		r := listRow{E: e, Z: rnd.Int64N(100), F: []*float64{&f, nil}, Y: e[0]*f + e[1]}
		if rnd.IntN(5) > 0 {
			r.F[1] = &e[1]
		}
		rows = append(rows, r)
	}
	return tables(t, rows, "e_0,e_1,e_2,z,f_0,f_1,y", func(r listRow) (fields []string) {
		missing := ""
		if r.F[1] != nil {
			missing = decimalOf(*r.F[1])
		}
		return []string{decimalOf(r.E[0]), decimalOf(r.E[1]), decimalOf(r.E[2]), fmt.Sprint(r.Z), decimalOf(*r.F[0]), missing,
			decimalOf(r.Y)}
	}, `{"type": "record", "name": "row", "fields": [{"name": "e", "type": {"type": "array", "items": "double"}}, {"name": "z", "type": "long"},
		{"name": "f", "type": {"type": "array", "items": ["null", "double"]}}, {"name": "y", "type": "double"}]}`)
}

// Rows are forgotten by the ids that CSV has, in any format of the data.
func TestLongIDsAreDigitsInAnyFormat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "ids", "4539000000000007\n4539000000000011\n")
	for format, content := range longFiles(t, 200) {
		write(t, dir, "data."+format, content)
		must(t, dir, append([]string{"train", "--data", "data." + format, "--label", "y", "--features", "32", "--model",
			format, "--quiet"}, longRoles[:4]...)...)
		must(t, dir, "sum", "--recipe", format, "--data", "data."+format, "--out", "s-"+format, "--quiet")
		must(t, dir, "fit", "--sums", "s-"+format, "--model", "f-"+format, "--quiet")
		r := run(t, dir, "forget", "--model", "f-"+format, "--sums", "s-"+format, "--data", "data."+format, "--ids", "ids",
			"--out", "g-"+format)
		if r.code != 0 || !strings.Contains(r.stdout, "forgotten 2 rows of 2 ids") {
			t.Errorf("%s: exit code %d\n%s%s", format, r.code, r.stdout, r.stderr)
		}
	}
}

// The same table in five formats gives the same model: the manifest differs in the name of
// the format, the separator of CSV, and its checksum.
func TestSameTableInAnyFormatGivesTheSameModel(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		name  string
		files map[string]string
		flags []string
	}{{"plain", plainFiles(t, 400), nil}, {"typed", typedFiles(t, 400), typedRoles}, {"long", longFiles(t, 400),
		longRoles}, {"lists", listFiles(t, 400), nil}, {"some of lists", listFiles(t, 400), []string{"--drop", "e_1,f"}}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var want string
			for _, format := range append([]string{"csv"}, share([]string{"jsonl", "parquet", "avro", "csv.gz"}, i%2, 2)...) {
				write(t, dir, "data."+format, c.files[format])
				must(t, dir, append([]string{"train", "--data", "data." + format, "--label", "y", "--features", "32", "--lambda",
					"1e-3,1e-5",
					"--model", format, "--quiet", "--shard_bytes", "3000"}, c.flags...)...)
				if a, b := read(t, dir, format, "weights.safetensors"), read(t, dir, "csv", "weights.safetensors"); a != b {
					t.Errorf("%s: the weights differ from CSV's", format)
				}
				got := withoutFormat(t, read(t, dir, format, "manifest.json"))
				if want == "" {
					want = got
				}
				if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
					t.Errorf("%s: the manifest differs from CSV's: %.3000s", format, diff)
				}
				// Any model reads any format.
				must(t, dir, "predict", "--model", "csv", "--data", "data."+format, "--out", "out-"+format+"/", "--quiet",
					"--shard_bytes", "1000000")
				if a, b := read(t, dir, "out-"+format, "part-00000.csv"), read(t, dir, "out-csv", "part-00000.csv"); a != b {
					t.Errorf("%s: the predictions differ from those for CSV", format)
				}
			}
		})
	}
}

// withoutFormat returns a manifest without the parts that name the format of the data.
func withoutFormat(t *testing.T, manifest string) string {
	t.Helper()
	var m any
	if err := json.Unmarshal([]byte(manifest), &m); err != nil {
		t.Fatal(err)
	}
	delete(m.(map[string]any), "sha256")
	var strip func(v any)
	strip = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				strip(e)
			}
		case map[string]any:
			delete(v, "format")
			for _, f := range []string{"csv", "jsonl", "parquet", "avro"} {
				if layout, ok := v[f].(map[string]any); ok {
					delete(layout, "comma")
					delete(layout, "header")
					delete(v, f)
					v["layout"] = layout
				}
			}
			for _, e := range v {
				strip(e)
			}
		}
	}
	strip(m)
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

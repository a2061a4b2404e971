package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// parquetParts returns the rows of all Parquet files in a directory, with a header, and the text
// of the schema. Nulls are "".
func parquetParts(t *testing.T, dir string) (records [][]string, schema string) {
	t.Helper()
	for _, name := range entries(t, dir) {
		if filepath.Ext(name) != ".parquet" {
			continue
		}
		data := read(t, dir, name)
		f, err := parquet.OpenFile(strings.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if schema != "" && schema != f.Schema().String() {
			t.Fatalf("the schema of %s is %s, want %s", name, f.Schema(), schema)
		}
		if schema == "" {
			var header []string
			for _, c := range f.Schema().Columns() {
				header = append(header, c[0])
			}
			records, schema = append(records, header), f.Schema().String()
		}
		for _, g := range f.RowGroups() {
			rows, buf := g.Rows(), make([]parquet.Row, 100)
			for err = error(nil); err == nil; {
				var n int
				n, err = rows.ReadRows(buf)
				for _, row := range buf[:n] {
					var record []string
					for _, v := range row {
						record = append(record, parquetText(v))
					}
					records = append(records, record)
				}
			}
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			rows.Close()
		}
	}
	return records, schema
}

// parquetText returns a value as a CSV file has it.
func parquetText(v parquet.Value) string {
	switch {
	case v.IsNull():
		return ""
	case v.Kind() == parquet.Float:
		return strconv.FormatFloat(float64(v.Float()), 'g', -1, 32)
	case v.Kind() == parquet.Double:
		return strconv.FormatFloat(v.Double(), 'g', -1, 64)
	}
	return v.String()
}

// csvParts returns the records of all CSV files in a directory, with one header.
func csvParts(t *testing.T, dir string) (records [][]string) {
	t.Helper()
	for _, name := range entries(t, dir) {
		if filepath.Ext(name) != ".csv" {
			continue
		}
		part, err := csv.NewReader(strings.NewReader(read(t, dir, name))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(records) > 0 {
			part = part[1:]
		}
		records = append(records, part...)
	}
	return records
}

func TestPredictWritesParquet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "train.csv", typedTable(typedHeader, typedRows(400, 1)))
	must(t, dir, append([]string{"train", "--label", "y", "--id_column", "id", "--data", "train.csv", "--model", "model"},
		smallModel...)...)
	rows := typedRows(300, 2)
	rows[7] = "short,1" // cannot be read
	write(t, dir, "new.csv", typedTable(typedHeader, rows))
	predict := []string{"predict", "--model", "model", "--data", "new.csv", "--scores", "--lines",
		"--max_bad_fraction", "0.1"}
	must(t, dir, append(predict, "--out", "csv")...)
	must(t, dir, append(predict, "--out", "parquet", "--out_format", "parquet")...)
	got, schema := parquetParts(t, filepath.Join(dir, "parquet"))
	want := csvParts(t, filepath.Join(dir, "csv"))
	if d := cmp.Diff(want, got); d != "" || len(got) != 301 {
		t.Errorf("%d rows differ from CSV: %s", len(got), d)
	}
	for _, column := range []string{"optional binary id (STRING)", "required int64 line",
		"optional binary prediction (STRING)", "optional float score_yes"} {
		if !strings.Contains(schema, column) {
			t.Errorf("no column %q in %s", column, schema)
		}
	}
	// The rows and the bytes of files do not depend on the runner, or on threads.
	cut := []string{"predict", "--model", "model", "--data", "new.csv", "--max_bad_fraction", "0.1", "--out_format",
		"parquet", "--shard_bytes", "3000"}
	must(t, dir, append(cut, "--out", "parts", "--threads", "1")...)
	must(t, dir, append(cut, "--out", "prism", "--runner", "prism", "--readers", "3")...)
	parts := entries(t, filepath.Join(dir, "parts"))
	if len(parts) < 5 || !slices.Equal(parts, entries(t, filepath.Join(dir, "prism"))) {
		t.Fatalf("files %v", parts)
	}
	for _, name := range parts {
		if strings.HasPrefix(name, "part-") && read(t, dir, "parts", name) != read(t, dir, "prism", name) {
			t.Errorf("%s depends on the runner", name)
		}
	}
	for i := range want {
		want[i] = []string{want[i][0], want[i][2]}
	}
	if got, _ := parquetParts(t, filepath.Join(dir, "parts")); !cmp.Equal(want, got) {
		t.Errorf("rows of the parts: %s", cmp.Diff(want, got))
	}
}

func TestClassesThatAreNumbersAreNumbersInParquet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "train.csv", strings.Join(quadrants(100), "\n")+"\n")
	for label, column := range map[string]string{"3,5": "int64 prediction", "-0.5,0.5": "double prediction"} {
		low, high, _ := strings.Cut(label, ",")
		name := "train" + low + ".csv"
		write(t, dir, name, strings.NewReplacer(",a\n", ","+low+"\n", ",b\n",
			","+high+"\n").Replace(read(t, dir, "train.csv")))
		must(t, dir, "train", "--data", name, "--label", "y", "--task", "classification", "--features", "32", "--model",
			"model"+low)
		must(t, dir, "predict", "--model", "model"+low, "--data", name, "--out", "out"+low, "--out_format", "parquet")
		got, schema := parquetParts(t, filepath.Join(dir, "out"+low))
		if !strings.Contains(schema, column) || len(got) != 101 || got[1][0] != low && got[1][0] != high {
			t.Errorf("%d rows, %v of %s; want %s", len(got), got[1], schema, column)
		}
	}
}

func TestFeaturesAsParquetTrainTheSameModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "train.csv", strings.Join(quadrants(100), "\n")+"\n")
	featurize := []string{"featurize", "--data", "train.csv", "--label", "y", "--features", "32"}
	for _, format := range []string{"csv", "parquet", "jsonl"} {
		must(t, dir, append(featurize, "--out", format, "--out_format", format)...)
	}
	got, schema := parquetParts(t, filepath.Join(dir, "parquet"))
	if want := csvParts(t, filepath.Join(dir, "csv")); !cmp.Equal(want, got) ||
		!strings.Contains(schema, "binary label (STRING)") {
		t.Errorf("%s; schema %s", cmp.Diff(want, got), schema)
	}
	for _, format := range []string{"csv", "parquet"} {
		must(t, dir, "train", "--data", filepath.Join(format, "part-00000."+format), "--label", "label", "--features", "16",
			"--model", "of-"+format)
	}
	if read(t, dir, "of-csv", "weights.safetensors") != read(t, dir, "of-parquet", "weights.safetensors") {
		t.Error("features as CSV and as Parquet give different weights")
	}
	if got := read(t, dir, "jsonl", "part-00000.jsonl"); !strings.HasPrefix(got, `{"features":[`) ||
		!strings.Contains(got, `],"labels":"`) {
		t.Errorf("%.200s", got)
	}
}

// Predictions are joined with their rows by identifiers, so predict writes the identifiers of the input
// unchanged.
func TestIdentifiersKeepTheirSpacesAndNulls(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "train.csv", "id,a,b,y\n"+numbered(60, "k%d,1,2,p")+numbered(60, "m%d,3,1,q"))
	must(t, dir, "train", "--data", "train.csv", "--label", "y", "--id_column", "id", "--features", "32", "--lambda",
		"1e-3", "--search", "none", "--model", "model", "--quiet")
	type row struct {
		ID *string `parquet:"id,optional" json:"id"`
		A  float64 `parquet:"a"`
		B  float64 `parquet:"b"`
	}
	type named struct {
		ID *string `json:"id"`
	}
	var texts []*string
	for _, text := range []string{" lead", "trail ", " both ", "", "null", "NaN", "  ", "0012", `a "b", c`} {
		texts = append(texts, &text)
	}
	csv, lines, rows := "id,a,b\n", "", []row{}
	for _, id := range append(texts, nil) {
		rows = append(rows, row{id, 1, 2})
		name, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		lines += fmt.Sprintf(`{"id":%s,"a":1,"b":2}`+"\n", name)
		if id != nil {
			csv += `"` + strings.ReplaceAll(*id, `"`, `""`) + `",1,2` + "\n"
		}
	}
	write(t, dir, "new.csv", csv)
	write(t, dir, "new.jsonl", lines+`{"a":1,"b":2}`+"\n")
	f, err := os.Create(filepath.Join(dir, "new.parquet"))
	if err == nil {
		err = errors.Join(parquet.Write(f, rows), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string][]*string{"new.csv": texts, "new.jsonl": append(slices.Clone(texts), nil, nil),
		"new.parquet": append(slices.Clone(texts), nil)} {
		predict := []string{"predict", "--model", "model", "--data", data, "--quiet", "--out_format"}
		got := []*string{}
		for line := range strings.Lines(must(t, dir, append(predict, "jsonl", "--out", "-")...)) {
			var n named
			if err := json.Unmarshal([]byte(line), &n); err != nil {
				t.Fatal(err)
			}
			got = append(got, n.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, JSON lines: %s", data, diff)
		}
		must(t, dir, append(predict, "parquet", "--out", data+"-out")...)
		stored, err := parquet.ReadFile[struct {
			ID *string `parquet:"id,optional"`
		}](filepath.Join(dir, data+"-out", "part-00000.parquet"))
		got = nil
		for _, s := range stored {
			got = append(got, s.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s, Parquet: %s, %v", data, diff, err)
		}
		must(t, dir, append(predict, "csv", "--out", data+"-csv")...)
		for i, record := range csvParts(t, filepath.Join(dir, data+"-csv"))[1:] {
			if id := want[i]; id != nil && record[0] != *id || id == nil && record[0] != "" {
				t.Errorf("%s, CSV: row %d has the id %q", data, i, record[0])
			}
		}
	}
}

func TestFeatureThatIsAlsoTheIdentifierStaysAFeature(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var train, csv, lines strings.Builder
	for i := range 200 {
		fmt.Fprintf(&train, "%c,%d.5,%d\n", 'p'+i%4, i%7, 10*(i%4)+i%7)
	}
	for i := range 8 {
		fmt.Fprintf(&csv, " %c,%d.5\n", 'p'+i%4, i)
		fmt.Fprintf(&lines, `{"city":" %c","a":%d.5}`+"\n", 'p'+i%4, i)
	}
	write(t, dir, "train.csv", "city,a,y\n"+train.String())
	write(t, dir, "new.csv", "city,a\n"+csv.String())
	write(t, dir, "new.jsonl", lines.String())
	must(t, dir, "train", "--data", "train.csv", "--label", "y", "--features", "32", "--lambda", "1e-3", "--search",
		"none", "--model", "model", "--quiet")
	for _, data := range []string{"new.csv", "new.jsonl"} {
		predict := []string{"predict", "--model", "model", "--data", data, "--quiet", "--out", "-"}
		want := strings.Split(must(t, dir, predict...), "\n")
		for _, id := range []string{"city", "a"} {
			for i, line := range strings.Split(must(t, dir, append(predict, "--id_column", id)...), "\n") {
				if line[strings.LastIndex(line, ",")+1:] != want[i] {
					t.Errorf("%s by %s: line %d is %s, want the prediction %s", data, id, i, line, want[i])
				}
			}
		}
	}
}

package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type pathRow struct {
	A float64 `parquet:"a" json:"a" avro:"a"`
	B float64 `parquet:"b" json:"b" avro:"b"`
}

const pathSchema = `{"type": "record", "name": "r", "fields": [{"name": "a", "type": "double"}, {"name": "b", "type": "double"}]}`

// hive writes rows into directories such as h/y=in/k=u, with the label and a column in the path, and into one flat file.
func hive(t *testing.T, dir, format string) {
	t.Helper()
	parts := map[string][]pathRow{}
	var flat strings.Builder
	flat.WriteString("a,b,k,y\n")
	for i := range 300 {
		k := []string{"u", "v w/x", "__HIVE_DEFAULT_PARTITION__", "7"}[i%4]
		a, b := float64(i*37%101)/101, float64(i*53%97)/97
		y := map[bool]string{true: "in", false: "out"}[a > 0.5 != (k == "u")]
		at := filepath.Join("h", "y="+y, "k="+url.PathEscape(k))
		parts[at] = append(parts[at], pathRow{a, b})
		fmt.Fprintf(&flat, "%v,%v,%s,%s\n", a, b, strings.TrimPrefix(k, "__HIVE_DEFAULT_PARTITION__"), y)
	}
	write(t, dir, "flat.csv", flat.String())
	for at, rows := range parts {
		if err := os.MkdirAll(filepath.Join(dir, at), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, dir, filepath.Join(at, "part."+format), tables(t, rows, "a,b", func(r pathRow) []string {
			return []string{fmt.Sprint(r.A), fmt.Sprint(r.B)}
		}, pathSchema)[format])
	}
}

// Directories named as Hive, Spark and DuckDB write them are columns: the model equals the flat table's, to the bit.
func TestPathColumnsAreTableColumns(t *testing.T) {
	for _, format := range []string{"csv", "csv.gz", "jsonl", "parquet", "avro"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			hive(t, dir, format)
			all := "h/*/*/part." + format
			for _, c := range [][]string{{"--label", "y"},
				{"--label", "b", "--group_column", "y", "--drop", "k", "--folds", "2"}, {"--label", "b", "--id_column", "k",
					"--task", "regression"}} {
				for data, model := range map[string]string{all: "hive", "flat.csv": "flat"} {
					args := trainOn(data, c...)
					args[4] = model + c[1] + fmt.Sprint(len(c))
					must(t, dir, args...)
				}
				name := c[1] + fmt.Sprint(len(c))
				if read(t, dir, "hive"+name, "weights.safetensors") != read(t, dir, "flat"+name, "weights.safetensors") {
					t.Errorf("%q: the model differs from the flat table's", c)
				}
			}
			scores := func(data string) string {
				return scoresOf(must(t, dir, "evaluate", "--model", "flaty2", "--data", data, "--slices", "k", "--quiet"))
			}
			if hive, flat := scores(all), scores("flat.csv"); hive != flat {
				t.Errorf("scores %s, want %s", hive, flat)
			}
			says(t, dir, []string{"k       feature  category  75       3 levels", "y       label    category"}, "inspect",
				"--data", all, "--label", "y")
			// A model takes from a path what it needs, also of a single file.
			one := "h/y=in/k=u/part." + format
			for _, model := range []string{"hivey2", "flaty2"} {
				must(t, dir, "predict", "--model", model, "--data", one, "--out", "out-"+model, "--quiet")
			}
			if read(t, dir, "out-hivey2", "part-00000.csv") != read(t, dir, "out-flaty2", "part-00000.csv") {
				t.Error("the predictions differ")
			}
		})
	}
}

func TestFileColumnsWinOverPathColumns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hive(t, dir, "csv")
	for i, at := range []string{"a/k=1", "a/k=2", "day/dt=2024-01-01", "bare/k=1", "bare/k=2"} {
		if err := os.MkdirAll(filepath.Join(dir, at), 0o777); err != nil {
			t.Fatal(err)
		}
		row := func(j int) string { return fmt.Sprintf("%d,%d,%d", j*37%101, j%5+10*i, j%2) }
		header := "b,k,y\n"
		if i == 4 {
			header = ""
		} else if i == 1 {
			header, row = "b,y\n", func(j int) string { return fmt.Sprintf("%d,%d", j*37%101, j%2) }
		}
		write(t, dir, at+"/part.csv", header+linesOf(30, row))
	}
	// The first file has a column k of its own, the second one has it in its path.
	says(t, dir, []string{"rows      60 of 2 numbers", "       k    0    4"}, "inspect", "--data", "a/*/*.csv",
		"--label", "y")
	// A value that is the same in all paths is no column, unless an option names it.
	says(t, dir, []string{"rows      30 of 2 numbers"}, "inspect", "--data", "day/*/*.csv", "--label", "y")
	says(t, dir, []string{"rows      30 of 2 numbers"}, "inspect", "--data", "day/*/*.csv", "--label", "y", "--drop", "dt")
	// Positions count the columns of the file.
	says(t, dir, []string{"rows      300 of 1 number and 2 categories", "b       label    number"}, "inspect", "--data",
		"h/*/*/*.csv", "--label", "-1")
	write(t, dir, "bare/k=1/part.csv", linesOf(30, func(j int) string { return fmt.Sprintf("%d.5,%d", j*37%101, j%2) }))
	write(t, dir, "bare/k=2/part.csv", linesOf(30, func(j int) string { return fmt.Sprintf("%d.5,%d", j*41%101, j%2) }))
	says(t, dir, []string{"the paths have values of k, which are not read because the files have no header"}, "inspect",
		"--data", "bare/*/*.csv", "--label", "-1")
}

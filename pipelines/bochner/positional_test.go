package main

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Files are data with and without --data, flags may have dashes, and the model is named after the file.
func TestFilesAreDataWithoutAFlag(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "small.v1.csv", typedTable(typedHeader, typedRows(300, 1)))
	write(t, dir, "new.csv", typedTable(typedHeader, typedRows(200, 2)))
	write(t, dir, "flags.yaml", "id-column: id\n")
	small := append([]string{"--label", "y", "--config", "flags.yaml"}, smallModel...)
	must(t, dir, append([]string{"train", "small.v1.csv"}, small...)...)
	must(t, dir, append([]string{"train", "--data", "small.v1.csv", "--model", "same"}, small...)...)
	if a, b := read(t, dir, "small-model/manifest.json"), read(t, dir, "same/manifest.json"); a != b {
		t.Errorf("manifests differ: %s, %s", a, b)
	}
	if got := must(t, dir, "evaluate", "--model", "same", "new.csv", "--data", "small.v1.csv", "--max-bad-fraction", "0.5"); !strings.Contains(got, "500") {
		t.Errorf("two files are not one table: %s", got)
	}
	got := run(t, dir, append([]string{"train", "small.v1.csv"}, small...)...)
	if got.code != 3 || !strings.Contains(got.stderr, "small-model: already exists") {
		t.Errorf("an existing model: exit code %d, %s", got.code, got.stderr)
	}
}

// A file has the rows of all parts of a directory, and is whole or absent.
func TestPredictionsAreOneFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "train.csv", typedTable(typedHeader, typedRows(300, 1)))
	must(t, dir, append([]string{"train", "train.csv", "--label", "y", "--id_column", "id", "--model", "model"},
		smallModel...)...)
	rows := typedRows(2000, 2)
	rows[700] = "bad,1"
	write(t, dir, "new.csv", typedTable(typedHeader, rows))
	predict := func(out string, more ...string) result {
		return run(t, dir, append([]string{"predict", "--model", "model", "new.csv", "--scores", "--max_bad_fraction", "0.1",
			"--shard_bytes", "20000", "--out", out}, more...)...)
	}
	for _, format := range []string{"csv", "jsonl"} {
		predict(format, "--out_format", format)
		want := joined(t, filepath.Join(dir, format), "."+format)
		if got := predict("all." + format); got.code != 0 || read(t, dir, "all."+format) != want || len(want) < 50_000 {
			t.Errorf("%s: exit code %d, %s", format, got.code, got.stderr)
		}
		predict("all." + format + ".gz")
		f, err := os.Open(filepath.Join(dir, "all."+format+".gz"))
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if f.Close(); err != nil || string(text) != want {
			t.Errorf("%s.gz: %d bytes, %v", format, len(text), err)
		}
	}
	predict("parts", "--out_format", "parquet")
	if got := predict("all.parquet"); got.code != 0 {
		t.Fatal(got.stderr)
	}
	if n := len(entries(t, filepath.Join(dir, "parts"))); n < 4 {
		t.Errorf("%d files, which are too few for a test", n)
	}
	// The same rows, as the reader of this program has them.
	a := must(t, dir, "inspect", "--data", "all.parquet", "--json")
	b := must(t, dir, "inspect", "--data", "parts/*.parquet", "--json")
	if cut := func(s string) string { return s[strings.Index(s, "\"columns\""):] }; cut(a) != cut(b) {
		t.Errorf("%s\n%s", a, b)
	}
	before := entries(t, dir)
	for out, want := range map[string]string{"all.csv": "already exists", "x.txt": "is not a format of predictions",
		"x.parquet.gz": "is already compressed", "x.csv": "new.csv:702"} {
		got := predict(out, "--max_bad_fraction", "0")
		if got.code == 0 || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: exit code %d, %s", out, got.code, got.stderr)
		}
	}
	after := slices.DeleteFunc(entries(t, dir), func(name string) bool { return strings.HasPrefix(name, ".") })
	if !slices.Equal(before, after) {
		t.Errorf("files %v, were %v", after, before)
	}
}

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models"
)

// A table with identifiers and a column that is encoded by labels is not searched, and trains.
func TestIdentifiersNextToTargetEncodingAreUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var table strings.Builder
	table.WriteString("id,kind,y\n")
	for i := range 300 {
		fmt.Fprintf(&table, "i%d,%s,%d\n", i*7%230, []string{"a", "b", "c"}[i*i%7%3], i*i%7%2)
	}
	write(t, dir, "train.csv", table.String())
	must(t, dir, "inspect", "--data", "train.csv", "--label", "y", "--write_schema", "schema.yaml", "--quiet")
	text := read(t, dir, "schema.yaml")
	const kind = "name: kind\n    role: feature"
	if !strings.Contains(text, kind) {
		t.Fatal(text)
	}
	write(t, dir, "schema.yaml", strings.Replace(text, kind, kind+"\n    encode: target", 1))
	r := must(t, dir, "train", "--data", "train.csv", "--schema", "schema.yaml", "--search", "auto", "--features", "64",
		"--model", "model", "--quiet")
	if !strings.Contains(r, "they were not searched: categories are encoded by labels") {
		t.Error(r)
	}
}

// Encodings and fills of single columns in a schema file have the effect that the flags have on all columns.
func TestSchemasEncodeColumns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var table strings.Builder
	table.WriteString("size,city,kind,y\n")
	for i, row := range typedRows(300, 1) {
		f := strings.Split(strings.ReplaceAll(row, `"Paris, 5e"`, "Paris"), ",")
		kind := []string{"a", "b", "c"}[i*i%7%3]
		table.WriteString(f[1] + "," + f[2] + "," + kind + "," + f[6] + "\n")
	}
	write(t, dir, "train.csv", table.String())
	train := append([]string{"train", "--data", "train.csv", "--quiet"}, fixedModel...)
	must(t, dir, "inspect", "--data", "train.csv", "--label", "y", "--write_schema", "schema.yaml", "--quiet")
	schema := read(t, dir, "schema.yaml")
	edit := func(name string, after ...string) {
		text := schema
		for i := 0; i < len(after); i += 2 {
			if !strings.Contains(text, after[i]) {
				t.Fatalf("no %q in\n%s", after[i], text)
			}
			text = strings.Replace(text, after[i], after[i]+"\n    "+after[i+1], 1)
		}
		write(t, dir, name, text)
	}
	same := func(a, b string) {
		t.Helper()
		if read(t, dir, a, "weights.safetensors") != read(t, dir, b, "weights.safetensors") {
			t.Errorf("%s and %s differ", a, b)
		}
	}
	const city, kind, size = "name: city\n    role: feature", "name: kind\n    role: feature",
		"name: size\n    role: feature"
	for _, e := range []string{"count", "target", "onehot"} {
		edit(e+".yaml", city, "encode: "+e, kind, "encode: "+e)
		must(t, dir, append(train, "--schema", e+".yaml", "--model", e)...)
		must(t, dir, append(train, "--label", "y", "--encode", e, "--model", "flag "+e)...)
		same(e, "flag "+e)
		must(t, dir, append(train, "--schema", e+".yaml", "--encode", "count", "--model", "both "+e)...)
		same(e, "both "+e) // the column's encoding goes first
	}
	edit("mixed.yaml", city, "encode: target", kind, "encode: count", size, "fill: median")
	must(t, dir, append(train, "--schema", "mixed.yaml", "--model", "mixed")...)
	must(t, dir, append(train, "--schema", "mixed.yaml", "--shard_bytes", "500", "--runner", "prism", "--readers", "2",
		"--model", "cut")...)
	sameModel(t, dir, "mixed", "cut")
	must(t, dir, "evaluate", "--model", "mixed", "--data", "train.csv", "--gate", "accuracy>=0.8", "--quiet")

	must(t, dir, append(train, "--label", "y", "--fill", "median", "--model", "median")...)
	must(t, dir, append(train, "--label", "y", "--model", "mean")...)
	edit("median.yaml", size, "fill: median")
	must(t, dir, append(train, "--schema", "median.yaml", "--model", "median of schema")...)
	sameModel(t, dir, "median", "median of schema")
	if read(t, dir, "median", "weights.safetensors") == read(t, dir, "mean", "weights.safetensors") {
		t.Error("the median does what the mean does")
	}
	m, err := models.LoadURI(t.Context(), dir+"/median")
	if err != nil {
		t.Fatal(err)
	}
	median := m.Table().Columns[0].Fill
	edit("number.yaml", size, "fill: "+median)
	must(t, dir, append(train, "--schema", "number.yaml", "--model", "number")...)
	sameModel(t, dir, "median", "number")

	for text, want := range map[string]string{
		"encode: hashing": `unknown encoding "hashing"`,
		"fill: 3":         "has no fill",
	} {
		edit("bad.yaml", city, text)
		if r := run(t, dir, append(train, "--schema", "bad.yaml", "--model", "bad")...); r.code != 3 ||
			!strings.Contains(r.stderr, want) || !strings.Contains(r.stderr, "bad.yaml:") {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

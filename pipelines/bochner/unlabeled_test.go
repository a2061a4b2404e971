package main

import (
	"fmt"
	"strings"
	"testing"
)

// unlabeledRows returns a table whose odd rows have no label; only those miss values and have the level b.
func unlabeledRows(n int) (csv, jsonl string) {
	csv = "x,k,y\n"
	for i := range n {
		if i%2 == 1 {
			csv += ",b,\n"
			jsonl += `{"x":null,"k":"b","y":null}` + "\n"
			continue
		}
		csv += fmt.Sprintf("%d.5,%c,%d.25\n", i%23, 'c'+i%3, i%7)
		jsonl += fmt.Sprintf(`{"x":%d.5,"k":"%c","y":%d.25}`+"\n", i%23, 'c'+i%3, i%7)
	}
	return csv, jsonl
}

func TestFieldsOfRowsSetAsideAreNotCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	csv, jsonl := unlabeledRows(200)
	write(t, dir, "holes.csv", csv)
	write(t, dir, "holes.jsonl", jsonl)
	write(t, dir, "full.csv", strings.ReplaceAll(csv, ",b,\n", "")+",c,1.25\n")
	for _, data := range []string{"holes.csv", "holes.jsonl"} {
		model := "model-" + data
		out := must(t, dir, "train", "--data", data, "--label", "y", "--features", "64", "--search", "none", "--model", model)
		if got := rowOf(out, "fields"); got != "" {
			t.Errorf("%s: no row that is used misses a field, but: %s", data, got)
		}
	}
	must(t, dir, "train", "--data", "full.csv", "--label", "y", "--features", "64", "--search", "none", "--model", "full")
	if got := rowOf(must(t, dir, "evaluate", "--model", "full", "--data", "holes.csv"), "fields"); got != "" {
		t.Errorf("evaluate counts fields of rows without label: %s", got)
	}
	want := "fields 100 missing, filled; 100 of categories with a text that is not one of the levels, read as other"
	if got := rowOf(must(t, dir, "predict", "--model", "full", "--data", "holes.csv", "--out", "p"),
		"fields"); got != want {
		t.Errorf("predictions use all rows, but: %q", got)
	}
}

func TestManyRowsWithoutLabelAreNoted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	csv, _ := unlabeledRows(200)
	write(t, dir, "many.csv", csv)
	write(t, dir, "few.csv", csv[:strings.Index(csv, ",b,")]+strings.ReplaceAll(csv, ",b,\n", "1,b,2\n")[len("x,k,y\n"):]+
		"1,b,\n")
	const note = "100 of 200 rows have no label and are set aside"
	for _, job := range [][]string{{"inspect"}, {"train", "--features", "64", "--search", "none", "--model", "m"}} {
		if out := must(t, dir, append(job, "--data", "many.csv", "--label", "y")...); !strings.Contains(out, note) {
			t.Errorf("%s does not note %q:\n%s", job[0], note, out)
		}
	}
	if out := must(t, dir, "inspect", "--data", "few.csv", "--label", "y"); strings.Contains(out, "rows have no label") {
		t.Errorf("one row without label is noted:\n%s", out)
	}
}

package main

import (
	"slices"
	"strings"
	"testing"
)

// fixedModel are the flags of a small model whose features are not searched for.
var fixedModel = append([]string{"--search", "none"}, smallModel...)

// A column of times is not a feature: a table without it gives the same model. The column is in the schema file
// and in the model, and evaluate scores rows by its months.
func TestTimeColumnIsNotAFeature(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "train.csv", typedTable(typedHeader, typedRows(300, 1)))
	train := append([]string{"train", "--data", "train.csv", "--label", "y", "--id_column", "id"}, fixedModel...)
	must(t, dir, append(train, "--drop", "since", "--model", "without")...)
	must(t, dir, append(train, "--time_column", "since", "--model", "model")...)
	if read(t, dir, "without", "weights.safetensors") != read(t, dir, "model", "weights.safetensors") {
		t.Error("the time changes the weights")
	}
	out := must(t, dir, "inspect", "--data", "train.csv", "--label", "y", "--id_column", "id", "--time_column", "since",
		"--write_schema", "schema.yaml")
	if !strings.Contains(out, "iso, 2024-01-") {
		t.Errorf("inspect lacks the first time:\n%s", out)
	}
	must(t, dir, slices.Concat([]string{"train", "--data", "train.csv", "--schema", "schema.yaml"}, fixedModel,
		[]string{"--model", "again"})...)
	sameModel(t, dir, "model", "again")
	if out = must(t, dir, "inspect", "--model", "model"); !strings.Contains(out, "columns   id id, time since (iso)") {
		t.Errorf("inspect lacks the roles:\n%s", out)
	}

	rows := typedRows(100, 2)
	rows[7] = "r7,31.5,osaka,false,soon,constant,no"
	write(t, dir, "new.csv", typedTable(typedHeader, rows))
	out = must(t, dir, "evaluate", "--model", "model", "--data", "new.csv", "--slices", "since")
	for _, want := range []string{"by since, 13 values", "2024-02", "2024-12", "(not a time)"} {
		if !strings.Contains(out, want) {
			t.Errorf("evaluate lacks %q:\n%s", want, out)
		}
	}
	write(t, dir, "few.csv", "city,member,age\nosaka,yes,30\n")
	must(t, dir, "predict", "--model", "model", "--data", "few.csv", "--out", "few")

	r := run(t, dir, append(train, "--time_column", "city", "--model", "wrong")...)
	if want := `column "city": texts such as "`; r.code != 3 || !strings.Contains(r.stderr, want) ||
		!strings.Contains(r.stderr, "have no known layout of times") {
		t.Errorf("a category as the time: %+v", r)
	}
	must(t, dir, append(train, "--time_column", "age", "--model", "numbers")...) // numbers may be times
}

// Slices by dates are months, also if the dates are features.
func TestSlicesByTimeAreMonths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "train.csv", typedTable(typedHeader, typedRows(300, 1)))
	must(t, dir, append([]string{"train", "--data", "train.csv", "--label", "y", "--drop", "id", "--model", "model"},
		fixedModel...)...)
	out := must(t, dir, "evaluate", "--model", "model", "--data", "train.csv", "--slices", "since,3")
	if !strings.Contains(out, "by since, 12 values") || !strings.Contains(out, "2024-12") {
		t.Errorf("no months:\n%s", out)
	}
}

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// --decimal and --thousands apply to labels and weights too: a table with commas gives the weights and the
// scores of the same table with points, also by a schema file and if the features are plain numbers.
func TestLabelsAndWeightsUseTheNumberFormatOfColumns(t *testing.T) {
	dir := t.TempDir()
	points, commas, half := "a,b,w,y,z\n", "a;b;w;y;z\n", "a;b;w;y;z\n"
	for i := range 300 {
		a, y := i*37%101, 900+i*i%777
		points += fmt.Sprintf("%d,%d,%d.5,%d.25,%d\n", a, i, i%3, y, i%4)
		thousands := fmt.Sprint(y)
		if y >= 1000 {
			thousands = fmt.Sprintf("%d.%03d", y/1000, y%1000)
		}
		commas += fmt.Sprintf("%d;%d;%d,5;%s,25;%d\n", a, i, i%3, thousands, i%4)
		half += fmt.Sprintf("%d;%d;%d,5;%d.25;%d\n", a, i, i%3, y, i%4)
	}
	write(t, dir, "points.csv", points)
	write(t, dir, "commas.csv", commas)
	write(t, dir, "half.csv", half)
	written := []string{"--decimal", ",", "--thousands", "."}
	must(t, dir, append([]string{"inspect", "--data", "commas.csv", "--label", "y", "--weight_column", "w",
		"--write_schema", "schema.yaml", "--quiet"}, written...)...)
	train := func(data, model string, flags ...string) string {
		if flags[0] != "--recipe" {
			flags = append([]string{"--features", "64", "--search", "none", "--lambda", "1e-4"}, flags...)
		}
		must(t, dir, append([]string{"train", "--data", data, "--model", model, "--quiet"}, flags...)...)
		return read(t, filepath.Join(dir, model), "weights.safetensors")
	}
	label := []string{"--label", "y", "--weight_column", "w"}
	want := train("points.csv", "points", label...)
	if train("commas.csv", "commas", append(written, label...)...) != want {
		t.Error("the weights differ from the table with points")
	}
	if train("commas.csv", "schema", "--schema", "schema.yaml") != want {
		t.Error("the weights by a schema differ from the table with points")
	}
	if train("commas.csv", "two", append(written, "--label", "y,z")...) != train("points.csv", "two-points", "--label",
		"y,z") {
		t.Error("the weights of two targets differ from the table with points")
	}
	// The recipe of a model knows the column of weights, also if a schema file named it.
	if train("commas.csv", "again", "--recipe", "schema") != train("points.csv", "points-again", "--recipe", "points") {
		t.Error("the weights by a recipe differ from the table with points")
	}
	scores := scoresOf(must(t, dir, "evaluate", "--data", "points.csv", "--model", "points", "--quiet"))
	for _, c := range [][]string{{"commas.csv", "commas"}, {"points.csv", "points"},
		{"commas.csv", "schema", "--label_strip", "'"}} {
		if got := scoresOf(must(t, dir, append([]string{"evaluate", "--quiet", "--data", c[0], "--model", c[1]},
			c[2:]...)...)); got != scores || !strings.Contains(got, `column "w"`) {
			t.Errorf("%q: %s, want %s", c, got, scores)
		}
	}
	r := run(t, dir, append([]string{"train", "--data", "half.csv", "--model", "half", "--features", "16", "--task",
		"regression", "--quiet"}, append(written, label...)...)...)
	if want := `half.csv:2: "900.25" is not a number: fractions begin with ',', thousands are separated by '.'`; r.code != 3 || !strings.Contains(r.stderr, want) {
		t.Errorf("exit code %d, %s, want %s", r.code, r.stderr, want)
	}
}

// A note has the flags with which a column is used, and numbers that do not match the flags are rejected.
func TestNumbersInOtherFormsNeedTheFlagOfTheNote(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	commas := func(i int) string {
		v := 20000 + i*7919%10007
		return fmt.Sprintf("%d;%d,75;%s", i%7, v, []string{"low", "high"}[v/25000])
	}
	write(t, dir, "commas.csv", "id;amount;y\n"+linesOf(300, commas))
	note := `column amount (such as "20000,75"): numbers with a decimal comma, not read as numbers; --decimal , reads numbers`
	says(t, dir, []string{note}, "inspect", "--data", "commas.csv", "--label", "y")
	says(t, dir, []string{note}, trainOn("commas.csv", "--label", "y")...)
	says(t, dir, []string{"amount  feature  number"}, "inspect", "--data", "commas.csv", "--label", "y", "--decimal", ",")

	for name, c := range map[string]struct{ numbers, thousands, bad string }{
		"points":      {"1.234,5 2.000 12.345.678", ".", "0.123"},
		"no group":    {"1.234,5 2.000 12.345.678", ".", "12345.678"},
		"points only": {"7 8 9", ".", "0.5"},
		"spaces":      {"1\u202f234,5 2\u00a0000 3", " ", ""},
		"quotes":      {"1'234,5 2’000 3", "'", ""},
	} {
		numbers := strings.ReplaceAll(c.numbers, " 2", "|2")
		cut := strings.FieldsFunc(numbers, func(r rune) bool { return r == '|' || r == ' ' })
		row := func(i int) string { return cut[i%len(cut)] + fmt.Sprintf(";%d,5", i%4) }
		write(t, dir, name+".csv", "x;y\n"+linesOf(40, row))
		args := []string{"inspect", "--data", name + ".csv", "--label", "y", "--decimal", ",", "--thousands", c.thousands}
		says(t, dir, []string{"rows      40 of 1 number"}, args...)
		if c.bad == "" {
			continue
		}
		write(t, dir, name+".csv", "x;y\n"+linesOf(40, row)+c.bad+";1,5\n"+linesOf(20,
			func(int) string { return c.bad + ";1,5" }))
		r := run(t, dir, args...)
		want := fmt.Sprintf(`%s.csv:42:1: column "x": "%s" is not a number: fractions begin with ',', thousands are separated by %q in groups of three digits`, name, c.bad, c.thousands[0])
		if r.code != 3 || !strings.Contains(r.stderr, want) {
			t.Errorf("exit code %d, %s, want %s", r.code, r.stderr, want)
		}
	}
}

// A number of JSON is read with a point, also by a model of numbers with commas; a text is read as in its
// training data.
func TestNumbersOfJSONHaveAPoint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	row := func(i int) string { return fmt.Sprintf("1.%03d,%d;%d,5", i*7, i%10, i%9) }
	write(t, dir, "commas.csv", "x;y\n"+linesOf(60, row))
	must(t, dir, append([]string{"train", "commas.csv", "--label", "y", "--decimal", ",", "--thousands", ".", "--model",
		"model"}, smallModel...)...)
	write(t, dir, "new.csv", "x\n\"1,234\"\n1.234\n1.500\n\"1,5\"\n")
	write(t, dir, "new.jsonl", `{"x": 1.234}`+"\n"+`{"x": 1234}`+"\n"+`{"x": "1.500"}`+"\n"+`{"x": 1.5}`+"\n")
	predict := func(data string) string {
		return must(t, dir, "predict", "--model", "model", data, "--out", "-", "--quiet")
	}
	if got, want := predict("new.jsonl"), predict("new.csv"); got != want || strings.Count(want, "\n") != 5 {
		t.Errorf("%s, want %s", got, want)
	}
}

// scoresOf returns what evaluate printed, without the name of the model.
func scoresOf(text string) string {
	_, scores, _ := strings.Cut(text, "\n")
	return scores
}

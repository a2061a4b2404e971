package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// --decimal and --thousands are of labels and weights, too: a table with commas gives the weights and the
// scores of the same table with points, also by a schema file and where the features are plain numbers.
func TestNumbersOfLabelsAndWeightsAreWrittenLikeThoseOfColumns(t *testing.T) {
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
	must(t, dir, append([]string{"inspect", "--data", "commas.csv", "--label", "y", "--weight_column", "w", "--write_schema", "schema.yaml", "--quiet"}, written...)...)
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
		t.Error("the weights are not those of the table with points")
	}
	if train("commas.csv", "schema", "--schema", "schema.yaml") != want {
		t.Error("the weights by a schema are not those of the table with points")
	}
	if train("commas.csv", "two", append(written, "--label", "y,z")...) != train("points.csv", "two-points", "--label", "y,z") {
		t.Error("the weights of two targets are not those of the table with points")
	}
	// The recipe of a model knows the column of weights, also if a schema file named it.
	if train("commas.csv", "again", "--recipe", "schema") != train("points.csv", "points-again", "--recipe", "points") {
		t.Error("the weights by a recipe are not those of the table with points")
	}
	scores := scoresOf(must(t, dir, "evaluate", "--data", "points.csv", "--model", "points", "--quiet"))
	for _, c := range [][]string{{"commas.csv", "commas"}, {"points.csv", "points"}, {"commas.csv", "schema", "--label_strip", "'"}} {
		if got := scoresOf(must(t, dir, append([]string{"evaluate", "--quiet", "--data", c[0], "--model", c[1]}, c[2:]...)...)); got != scores || !strings.Contains(got, `column "w"`) {
			t.Errorf("%q: %s, want %s", c, got, scores)
		}
	}
	r := run(t, dir, append([]string{"train", "--data", "half.csv", "--model", "half", "--features", "16", "--task", "regression", "--quiet"}, append(written, label...)...)...)
	if want := `half.csv:2: "900.25" is not a number: fractions begin with ',', thousands are separated by '.'`; r.code != 3 || !strings.Contains(r.stderr, want) {
		t.Errorf("exit code %d, %s, want %s", r.code, r.stderr, want)
	}
}

// scoresOf returns what evaluate printed, without the name of the model.
func scoresOf(text string) string {
	_, scores, _ := strings.Cut(text, "\n")
	return scores
}

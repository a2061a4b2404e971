package main

import (
	"fmt"
	"strings"
	"testing"
)

// linesOf writes n records of a table, each on a line.
func linesOf(n int, record func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(record(i) + "\n")
	}
	return b.String()
}

// says fails the test unless what a command prints, with its messages, has all the words.
func says(t *testing.T, dir string, words []string, args ...string) {
	t.Helper()
	r := run(t, dir, args...)
	for _, w := range words {
		if !strings.Contains(r.stdout+r.stderr, w) || r.code != 0 {
			t.Errorf("bochner %s: exit code %d, %q not in\n%s%s", strings.Join(args, " "), r.code, w, r.stdout, r.stderr)
		}
	}
}

func TestTrainingAndPredictionAgreeOnTheHeader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	texts := func(i int) string {
		return fmt.Sprintf("%c,%c,%c,%c", "ep"[i*i%7%2], "abc"[i%3], "xy"[i%2], "uvw"[i*5%7%3])
	}
	years := func(i int) string { return fmt.Sprintf("%.3f,%.3f", float64(i*37%101)/50-1, float64(i*53%97)/48-1) }
	write(t, dir, "texts.csv", linesOf(40, texts))
	write(t, dir, "new.csv", "p,b,x,never seen\n"+linesOf(9, texts))
	write(t, dir, "years.csv", "2022,2023,2024\n"+linesOf(40,
		func(i int) string { return years(i) + fmt.Sprintf(",%.3f", float64(i)/40) }))
	write(t, dir, "years-new.csv", "2022,2023\n"+linesOf(10, years))
	write(t, dir, "years-only.csv", linesOf(10, years))
	says(t, dir, []string{"rows      40\n"}, trainOn("texts.csv", "--label", "1", "--task", "classification")...)
	for _, data := range []string{"new.csv"} {
		says(t, dir, []string{"rows         10\n"}, "predict", "--model", "model", "--data", data, "--out", data+".out")
	}
	args := trainOn("years.csv", "--label", "-1")
	args[4] = "years"
	says(t, dir, []string{"rows      40\n", "note: years.csv: the first line is read as the names of the columns",
		"--header no"}, args...)
	for _, data := range []string{"years-new.csv", "years-only.csv"} {
		says(t, dir, []string{"rows         10\n"}, "predict", "--model", "years", "--data", data, "--out", data+".out")
	}
	says(t, dir, []string{"rows      41 of 3 numbers"}, "inspect", "--data", "years.csv", "--header", "no")
}

func TestRepeatedHeadersAreSkippedAndCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rows := quadrants(60)
	one, two := strings.Join(rows[:31], "\n")+"\n", strings.Join(rows[31:], "\n")+"\n"
	write(t, dir, "joined.csv", "\ufeff"+one+"\ufeff"+rows[0]+"\n"+two)
	write(t, dir, "once.csv", one+two)
	says(t, dir, []string{"rows      60; 1 repeated header skipped\n"}, trainOn("joined.csv", "--label", "y")...)
	says(t, dir, []string{"rows         60; 1 repeated header skipped\n", "n-th prediction is not for the n-th line"},
		"predict", "--model", "model", "--data", "joined.csv", "--out", "p")
	says(t, dir, []string{"rows         60\n"}, "predict", "--model", "model", "--data", "once.csv", "--out", "q")
	if read(t, dir, "p", "part-00000.csv") != read(t, dir, "q", "part-00000.csv") {
		t.Error("predictions differ")
	}
}

func TestQuotedFieldsThatHoldRowsAreNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	table := func(first, last int, of string) string {
		return "s,x,y\n" + linesOf(120, func(i int) string {
			switch name := fmt.Sprint("ok", i%3); i {
			case first:
				return fmt.Sprintf("\"oops,%d,%d", i, i%2)
			case last:
				return fmt.Sprintf("tail\",%d,%d", i, i%2)
			default:
				return fmt.Sprintf("%s,%d,%d", name, i, i%2)
			}
		}) + of
	}
	write(t, dir, "stray.csv", table(40, 80, ""))
	write(t, dir, "before.csv", table(-1, -1, ""))
	const said = "; stray.csv:42: a quoted field runs to line 82, and 39 of its lines look like rows; if its quotes are stray, remove them"
	for _, size := range []string{"150", "400", "100000"} {
		says(t, dir, []string{"rows      200 of", said}, "inspect", "--data", "before.csv", "--data", "stray.csv", "--label",
			"y", "--shard_bytes", size)
	}
	says(t, dir, []string{"rows      200" + said}, trainOn("stray.csv", "--data", "before.csv", "--label", "y")...)
	says(t, dir, []string{"rows         80" + said}, "predict", "--model", "model", "--data", "stray.csv", "--out", "p")
	says(t, dir, []string{"80" + said}, "evaluate", "--model", "model", "--data", "stray.csv")

	prose := "\"one, two\nthree\nfour, five, six\nseven\neight, nine\nten\neleven, twelve, thirteen\n14\",7,0\n"
	write(t, dir, "prose.csv", table(60, 62, prose))
	if r := run(t, dir, "inspect", "--data", "prose.csv", "--label", "y"); r.code != 0 ||
		strings.Contains(r.stdout+r.stderr, "quoted field") {
		t.Errorf("exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
}

func TestTextsThatLookTheSameAreNoted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	drinks := []string{"tea", "cafe\u0301", "caf\u00e9", "tea\u00a0", "Tea", "water"}
	write(t, dir, "drinks.csv", "drink,a,y\n"+linesOf(60, func(i int) string {
		return fmt.Sprintf("%s,%d,%s", drinks[i%6], i*37%101, drinks[i*i%6])
	}))
	const differ = ` differ only in case, in spaces, in Unicode form or in invisible characters`
	same := `"Tea", "tea", "tea\u00a0"; "cafe\u0301", "caf\u00e9"`
	notes := []string{
		"note      column drink (" + same + "): texts that" + differ,
		"note      classes" + differ + `: "Tea", "tea", "tea\u00a0"; write each in one way; --label_case lower ignores case`,
	}
	says(t, dir, notes, "inspect", "--data", "drinks.csv", "--label", "y")
	says(t, dir, notes, trainOn("drinks.csv", "--label", "y")...)
	if r := run(t, dir, "inspect", "--data", "drinks.csv", "--label", "y", "--label_case",
		"lower"); !strings.Contains(r.stdout, `"tea", "tea\u00a0"; write each in one way`+"\n") {
		t.Errorf("labels in lower case do not differ in case: %s", r.stdout)
	}
}

func TestEncodingOfTrainingMatchesPredictions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	row := func(i int) string {
		return fmt.Sprintf("%s,%.3f,%d", []string{"Z\xfcrich", "Gen\xe8ve", "B\xe2le"}[i%3], float64(i*37%101)/50, i%3+1)
	}
	write(t, dir, "latin1.csv", "ville,x,y\n"+linesOf(60, row))
	write(t, dir, "utf8.csv", "ville,x,y\n"+linesOf(60, func(i int) string {
		return strings.NewReplacer("\xfc", "ü", "\xe8", "è", "\xe2", "â").Replace(row(i))
	}))
	args := trainOn("latin1.csv", "--label", "y", "--task", "regression")
	r := run(t, dir, args...)
	for _, w := range []string{"latin1.csv:2:1: column \"ville\"", "byte 2 is 0xFC", "--encoding latin1"} {
		if r.code == 0 || !strings.Contains(r.stderr, w) {
			t.Errorf("exit code %d, %q not in %s", r.code, w, r.stderr)
		}
	}
	says(t, dir, []string{"rows      60\n"}, append(args, "--encoding", "latin1")...)
	a := must(t, dir, "predict", "--model", "model", "--data", "latin1.csv", "--out", "-")
	if b := must(t, dir, "predict", "--model", "model", "--data", "utf8.csv", "--encoding", "utf-8", "--out",
		"-"); a != b || strings.Count(a, "\n") < 60 {
		t.Errorf("predictions differ:\n%.300s\n%.300s", a, b)
	}
	says(t, dir, []string{"utf8.csv: is read as Latin-1, though all its text is UTF-8"}, "predict", "--model", "model",
		"--data", "utf8.csv", "--out", "o")
}

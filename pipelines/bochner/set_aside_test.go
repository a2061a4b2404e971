package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shards cuts even small files, so that rows set aside lie in many shards.
var shards = [][]string{nil, {"--shard_bytes", "500"}, {"--shard_bytes", "500", "--runner", "prism", "--readers", "3"},
	{"--shard_bytes", "37"}}

// spoiled returns a table of n rows with bad rows of many kinds between them, and
// blank lines and rows of two lines, so that numbers of lines and of rows part;
// the lines that set_aside.jsonl must have for it, under that name of the file;
// and the table without the bad rows.
func spoiled(n int, file string) (text, aside, clean string) {
	var bad, good, list []string
	line := 0
	add := func(s string) { bad = append(bad, s); line += 1 + strings.Count(s, "\n") }
	reject := func(s string, column int, reason string) {
		add(s)
		at := ""
		if column > 0 {
			at = fmt.Sprintf(`"column":%d,`, column)
		}
		list = append(list, fmt.Sprintf(`{"file":%q,"line":%d,%s"reason":%q}`, file, line-strings.Count(s, "\n"), at, reason))
	}
	for i, row := range quadrants(n) {
		switch {
		case i == 0:
		case i%11 == 3:
			reject("0.5,a", 0, "has 2 fields, want 3")
		case i%13 == 5:
			reject("0.5,1e400,a", 2, `column "x2": "1e400" is infinite, or too large for float32 (largest is 3.4e38)`)
		case i%17 == 7:
			reject("0.5,\"1\n2\",b", 2, `column "x2": "1\n2" is not a number`)
		case i%19 == 2:
			reject("0.5,0.25,", 0, "has no label")
		}
		switch {
		case i%7 == 4:
			add("  ")
		case i%5 == 2:
			row = `"` + strings.Replace(row, ",", `",`, 1)
		}
		add(row)
		good = append(good, row)
	}
	join := func(lines []string) string { return strings.Join(lines, "\n") + "\n" }
	return join(bad), join(list), join(good)
}

// counts is what all jobs report of rows.
type counts struct {
	Read     int `json:"read"`
	Used     int `json:"used"`
	SetAside int `json:"set_aside"`
}

// rowsOf returns the counts in a JSON text.
func rowsOf(t *testing.T, text string) counts {
	t.Helper()
	var v struct {
		Rows counts `json:"rows"`
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v.Rows
}

func TestRowsSetAsideAreCountedAndListed(t *testing.T) {
	t.Parallel()
	const n = 200
	dir := t.TempDir()
	text, aside, clean := spoiled(n, "bad.csv")
	write(t, dir, "bad.csv", text)
	write(t, dir, "clean.csv", clean)
	want := counts{Used: n, SetAside: strings.Count(aside, "\n")}
	want.Read = want.Used + want.SetAside
	must(t, dir, append([]string{"train", "--data", "clean.csv", "--label", "y", "--model", "clean"}, smallModel...)...)
	for i, cut := range shards {
		model := fmt.Sprint("model-", i)
		args := slices.Concat([]string{"train", "--data", "bad.csv", "--label", "y", "--model", model, "--max_bad_fraction",
			"0.5"}, smallModel, cut)
		if i%2 == 0 {
			args = append(args, "--json")
		}
		out := must(t, dir, args...)
		if d := cmp.Diff(aside, read(t, dir, model, "set_aside.jsonl")); d != "" {
			t.Errorf("%v: set_aside.jsonl: %s", cut, d)
		}
		if got := rowsOf(t, read(t, dir, model, "manifest.json")); got != want {
			t.Errorf("%v: the manifest has %+v, want %+v", cut, got, want)
		}
		if i%2 == 0 {
			if got := rowsOf(t, out); got != want {
				t.Errorf("%v: printed %+v, want %+v", cut, got, want)
			}
		} else if line := fmt.Sprintf("rows      %d read = %d used + %d set aside (%d without label), listed in set_aside.jsonl\n", want.Read, want.Used, want.SetAside, strings.Count(aside, "has no label")); !strings.Contains(out, line) {
			t.Errorf("%v: %q is not in the summary\n%s", cut, line, out)
		}
		if read(t, dir, model, "weights.safetensors") != read(t, dir, "clean", "weights.safetensors") {
			t.Errorf("%v: the weights differ from the table without the bad rows", cut)
		}
		sameModel(t, dir, "model-0", model)
	}
}

func TestTooManyBadRowsAreRejectedWithTheirNumber(t *testing.T) {
	const n = 200
	text, aside, _ := spoiled(n, "bad.csv")
	bad, unlabelled := strings.Count(aside, "\n"), strings.Count(aside, "has no label")
	dir := trained(t)
	write(t, dir, "bad.csv", text)
	for _, cut := range shards {
		for _, args := range [][]string{
			{"train", "--data", "bad.csv", "--label", "y", "--features", "32", "--model", "new"},
			{"predict", "--model", "model", "--data", "bad.csv", "--out", "new"},
			{"evaluate", "--model", "model", "--data", "bad.csv"},
			{"inspect", "--data", "bad.csv", "--label", "y"},
		} {
			// Rows without a label are set aside for any limit.
			first := "bad.csv:5: has 2 fields, want 3"
			number := fmt.Sprintf("%d of %d rows are unusable, more than --max_bad_fraction 0.01 allows; this is the first",
				bad-unlabelled, n+bad)
			refuse(t, dir, 3, []string{first, number}, slices.Concat(args, []string{"--max_bad_fraction", "0.01"}, cut)...)
			refuse(t, dir, 3, []string{first, mend}, slices.Concat(args, cut)...)
		}
	}
	// Just as many as allowed pass, one more does not.
	rows := quadrants(100)
	write(t, dir, "one.csv", replaced(rows, map[int]string{50: "1,2"}))
	write(t, dir, "two.csv", replaced(rows, map[int]string{50: "1,2", 60: "1,2"}))
	args := []string{"inspect", "--label", "y", "--max_bad_fraction", "0.01", "--data"}
	must(t, dir, append(args, "one.csv")...)
	refuse(t, dir, 3, []string{"two.csv:50: has 2 fields, want 3", "2 of 100 rows are unusable"},
		append(args, "two.csv")...)
	write(t, dir, "all.csv", "x1,x2,y\n1\n2\n")
	refuse(t, dir, 3,
		[]string{"all.csv: has no usable rows: all 2 cannot be read, the first is all.csv:2: has 1 field, want 3"}, "inspect",
		"--label", "y", "--max_bad_fraction", "1", "--data", "all.csv")
}

func TestEveryRowHasALineOfPredictions(t *testing.T) {
	t.Parallel()
	const n = 200
	dir := trained(t)
	rows := quadrants(n)[1:]
	bad := map[int]string{3: "0.5,a", 50: "0.5,1e400,a", 51: "0.5,1,2,3", 120: "1 2,1,b", n: "x,1,b"}
	text := rows[:0:0]
	for i, row := range rows {
		if b, ok := bad[i+1]; ok {
			row = b
		}
		text = append(text, row)
	}
	write(t, dir, "good.csv", "x1,x2,y\n"+strings.Join(rows, "\n")+"\n")
	write(t, dir, "bad.csv", "x1,x2,y\n"+strings.Join(text, "\n")+"\n")
	aside := `{"file":"bad.csv","line":4,"reason":"has 2 fields, want 3"}
{"file":"bad.csv","line":51,"column":2,"reason":"column \"x2\": \"1e400\" is infinite, or too large for float32 (largest is 3.4e38)"}
{"file":"bad.csv","line":52,"reason":"has 4 fields, want 3"}
{"file":"bad.csv","line":121,"column":1,"reason":"column \"x1\": \"1 2\" is not a number"}
{"file":"bad.csv","line":201,"column":1,"reason":"column \"x1\": \"x\" is not a number"}
`
	for format, none := range map[string]string{"csv": `""`, "jsonl": `{"prediction":null}`} {
		must(t, dir, "predict", "--model", "model", "--data", "good.csv", "--out", "good-"+format, "--out_format", format)
		want := predicted(t, filepath.Join(dir, "good-"+format))
		for i := range bad {
			want[i-1] = none
		}
		for i, cut := range shards {
			out := fmt.Sprintf("%s-%d", format, i)
			printed := must(t, dir, slices.Concat([]string{"predict", "--model", "model", "--data", "bad.csv", "--out", out,
				"--out_format", format, "--max_bad_fraction", "0.5", "--json"}, cut)...)
			if d := cmp.Diff(want, predicted(t, filepath.Join(dir, out))); d != "" {
				t.Errorf("%s, %v: %s", format, cut, d)
			}
			if d := cmp.Diff(aside, read(t, dir, out, "set_aside.jsonl")); d != "" {
				t.Errorf("%s, %v: set_aside.jsonl: %s", format, cut, d)
			}
			count := counts{Read: n, Used: n - len(bad), SetAside: len(bad)}
			if got := rowsOf(t, read(t, dir, out, "manifest.json")); got != count {
				t.Errorf("%s, %v: the manifest has %+v, want %+v", format, cut, got, count)
			}
			if got := rowsOf(t, printed); got != count {
				t.Errorf("%s, %v: printed %+v, want %+v", format, cut, got, count)
			}
		}
	}
}

// predicted returns the lines of a directory of predictions, without headers.
func predicted(t *testing.T, dir string) []string {
	t.Helper()
	var lines []string
	for _, name := range entries(t, dir) {
		if !strings.HasPrefix(name, "part-") {
			continue
		}
		part := strings.Split(strings.TrimSuffix(read(t, dir, name), "\n"), "\n")
		if strings.HasSuffix(name, ".csv") {
			part = part[1:]
		}
		lines = append(lines, part...)
	}
	return lines
}

func TestRowsSetAsideOfOtherFormatsHaveTheirPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var svm []string
	for i := range 200 {
		svm = append(svm, fmt.Sprintf("%d 1:0.%d 2:0.%d # comment", i%2, i*37%101, i*53%97))
	}
	svm[99], svm[150], svm[151] = "1 0:1", "# nothing but a comment", "1 2:1 1:1"
	write(t, dir, "data.svm", strings.Join(svm, "\n")+"\n")
	numbers := make([]float32, 4*200)
	for i := range numbers {
		numbers[i] = float32(i * 37 % 101)
	}
	numbers[4*99+1], numbers[4*150+3] = nan, inf
	labels := make([]byte, 200)
	for i := range labels {
		labels[i] = byte(i % 2)
	}
	write(t, dir, "images", idx(13, []uint32{200, 4}, floats(numbers)))
	write(t, dir, "labels", idx(8, []uint32{200}, string(labels)))
	for _, c := range []struct {
		name string
		data []string
		want string
	}{
		{"svm", []string{"--data", "data.svm"}, `{"file":"data.svm","line":100,"column":1,"reason":"index 0: indices count from 1"}
{"file":"data.svm","line":152,"column":2,"reason":"index 1 follows 2; indices must ascend"}
`},
		{"idx", []string{"--data", "images", "--label_files", "labels"}, `{"file":"images","line":100,"column":2,"reason":"NaN (missing values are not supported)"}
{"file":"images","line":151,"column":4,"reason":"infinite, or too large for float32 (largest is 3.4e38)"}
`},
	} {
		for i, cut := range shards {
			model := fmt.Sprint(c.name, i)
			must(t, dir, slices.Concat([]string{"train", "--model", model, "--max_bad_fraction", "0.5"}, c.data, smallModel,
				cut)...)
			if d := cmp.Diff(c.want, read(t, dir, model, "set_aside.jsonl")); d != "" {
				t.Errorf("%s, %v: %s", c.name, cut, d)
			}
			sameModel(t, dir, c.name+"0", model)
		}
	}
}

func TestNonNumericTargetsCanBeSetAside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines := []string{"x,y"}
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("0.%d,0.%d", i*37%101, i*53%97))
	}
	write(t, dir, "data.csv", replaced(lines, map[int]string{9: "0.3,high", 30: "0.3,1e39", 80: "0.3,NaN"}))
	must(t, dir, append([]string{"train", "--data", "data.csv", "--label", "y", "--task", "regression",
		"--max_bad_fraction", "0.1", "--model", "model"}, smallModel...)...)
	want := `{"file":"data.csv","line":9,"reason":"the label \"high\" is not a number"}
{"file":"data.csv","line":30,"reason":"the label \"1e39\" is too large for float32 (largest is 3.4e38)"}
{"file":"data.csv","line":80,"reason":"has no label"}
`
	if d := cmp.Diff(want, read(t, dir, "model", "set_aside.jsonl")); d != "" {
		t.Error(d)
	}
	out := must(t, dir, "evaluate", "--model", "model", "--data", "data.csv", "--max_bad_fraction", "0.1")
	for _, line := range []string{"100 read = 97 used + 3 set aside (1 without label)\n",
		`data.csv:9: the label "high" is not a number` + "\n"} {
		if !strings.Contains(out, line) {
			t.Errorf("%q is not in the summary\n%s", line, out)
		}
	}
}

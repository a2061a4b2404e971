package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

const mend = "fix the file, or allow a share of rows to be set aside"

// identified returns a table whose labels name the rows.
func identified(rows []string) string {
	text := rows[0] + "\n"
	for i, row := range rows[1:] {
		text += fmt.Sprintf("%s,row %d\n", row[:strings.LastIndexByte(row, ',')], i+1)
	}
	return text
}

func TestUnusableTablesAreRejected(t *testing.T) {
	rows := quadrants(60)
	at7 := func(line string) string { return replaced(rows, map[int]string{7: line}) }
	value := func(text string) string { return at7("0.5," + text + ",a") }
	for name, c := range map[string]struct {
		content string
		args    []string
		want    []string
	}{
		"empty file":  {"", nil, []string{"data.csv: is empty (no rows)"}},
		"blank lines": {"\n\n  \n", nil, []string{"data.csv: is empty (no rows)"}},
		"header only": {rows[0] + "\n", nil, []string{"data.csv: has columns but no rows"}},
		"short row":   {at7("0.5,a"), nil, []string{"data.csv:7: has 2 fields, want 3", mend}},
		"long row":    {at7("0.5,1,2,a"), nil, []string{"data.csv:7: has 4 fields, want 3", mend}},
		"other comma": {at7("0.5;1;a"), nil, []string{"data.csv:7: has 1 field, want 3 (separated by ',')", mend}},
		"open quote": {at7(`"0.5,1,a`), nil,
			[]string{"data.csv:7:1: the quote opened in this field is never closed", mend}},
		"text": {value("hello"), nil,
			[]string{`data.csv:7:2: column "x2": "hello" is not a number`, "--categorical reads a category", mend}},
		"decimal comma": {value(`"1,5"`), nil,
			[]string{`data.csv:7:2: column "x2": "1,5" is not a number (its fraction seems to begin with a comma)`, mend}},
		"Inf": {value("Inf"), nil, []string{`data.csv:7:2: column "x2": "Inf" is not a finite number`, mend}},
		"-Infinity": {value("-Infinity"), nil,
			[]string{`data.csv:7:2: column "x2": "-Infinity" is not a finite number`, mend}},
		"1e400": {value("1e400"), nil,
			[]string{`data.csv:7:2: column "x2": "1e400" is infinite, or too large for float32`, mend}},
		"1e39": {value("1e39"), nil,
			[]string{`data.csv:7:2: column "x2": "1e39" is infinite, or too large for float32`, mend}},
		"unknown label": {replaced(rows, nil), []string{"--label", "Y"},
			[]string{`data.csv: label: no column "Y" (did you mean "y"?); have x1, x2, y`}},
		"label outside": {replaced(rows, nil), []string{"--label", "4"},
			[]string{`data.csv: label "4" is outside the columns 1 to 3 (or -1 to -3, from the end)`}},
		"label alone": {"y\na\nb\n", nil, []string{"data.csv: the label is the only column"}},
		"one class": {strings.ReplaceAll(replaced(rows, nil), "b\n", "a\n"), nil,
			[]string{`data.csv: all 60 rows have the label "a"; classification needs at least two classes`}},
		"identifiers": {identified(rows), nil,
			[]string{`data.csv: each of the 60 rows has a label of its own, such as "row 1", as in a column of identifiers; if "y" has identifiers, name another column with --label`}},
		"NUL": {at7("0.5,1\x00,a"), nil, []string{"data.csv: is binary (NUL at byte", "state the format"}},
		"NUL, a CSV": {at7("0.5,1\x00,a"), []string{"--format", "csv"},
			[]string{"data.csv:7: contains a NUL byte; is this a binary file?", mend}},
		"UTF-16 LE": {utf16Text(replaced(rows, nil), false), nil,
			[]string{"data.csv: is UTF-16 text; convert it with iconv -f UTF-16 -t UTF-8"}},
		"UTF-16 BE": {utf16Text(replaced(rows, nil), true), nil,
			[]string{"data.csv: is UTF-16 text; convert it with iconv -f UTF-16 -t UTF-8"}},
		"UTF-16, a CSV": {utf16Text(replaced(rows, nil), true), []string{"--format", "csv"},
			[]string{"data.csv: is UTF-16 text; convert it with iconv -f UTF-16 -t UTF-8"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "data.csv", c.content)
			args := c.args
			if len(args) == 0 || args[0] != "--label" {
				args = append([]string{"--label", "y"}, args...)
			}
			refuse(t, dir, 3, c.want, trainOn("data.csv", args...)...)
		})
	}
}

// utf16Text returns the text as Windows programs save it.
func utf16Text(s string, big bool) string {
	var b strings.Builder
	for _, u := range append([]uint16{0xfeff}, utf16.Encode([]rune(s))...) {
		lo, hi := byte(u), byte(u>>8)
		if big {
			lo, hi = hi, lo
		}
		b.WriteByte(lo)
		b.WriteByte(hi)
	}
	return b.String()
}

func TestUnusableTargetsAreRejected(t *testing.T) {
	targets := func(replace map[int]string) string {
		lines := []string{"x,y"}
		for i := range 40 {
			lines = append(lines, strings.Join([]string{"0.", ",0."}, string(rune('0'+i%10)))+string(rune('0'+i/4)))
		}
		return replaced(lines, replace)
	}
	constant := replaced(append([]string{"x,y"},
		strings.Split(strings.TrimSpace(strings.Repeat("1,0.5\n2,0.5\n", 9)), "\n")...), nil)
	regression := []string{"--task", "regression"}
	for name, c := range map[string]struct {
		content string
		args    []string
		want    []string
	}{
		"text": {targets(map[int]string{9: "0.3,high"}), regression,
			[]string{`data.csv:9: the label "high" is not a number`, mend}},
		"text, no task": {targets(map[int]string{9: "0.3,high"}), nil,
			[]string{`data.csv: the label "high" is not a number, but most labels are; with --task regression`,
				"with --task classification"}},
		"too large": {targets(map[int]string{9: "0.3,1e39"}), regression,
			[]string{`data.csv:9: the label "1e39" is too large for float32`, mend}},
		"too large, no task": {targets(map[int]string{9: "0.3,1e39"}), nil,
			[]string{"data.csv: 1 of 40 labels do not fit in float32 (largest is 3.4e38): divide all labels by a power of ten; with --task regression rows with such labels are listed"}},
		"constant": {constant, regression,
			[]string{"data.csv: every row has the target 0.5, so there is nothing to learn"}},
		"constant, no task": {constant, nil,
			[]string{"data.csv: every row has the target 0.5, so there is nothing to learn"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "data.csv", c.content)
			refuse(t, dir, 3, c.want, trainOn("data.csv", append([]string{"--label", "y"}, c.args...)...)...)
		})
	}
}

func TestEveryJobRejectsTheBadRow(t *testing.T) {
	dir := trained(t)
	write(t, dir, "bad.csv", replaced(quadrants(60), map[int]string{7: "0.5,hello,a"}))
	want := []string{`bad.csv:7:2: column "x2": "hello" is not a number`, mend}
	for _, runner := range []string{"direct", "prism"} {
		for _, args := range [][]string{
			{"train", "--data", "bad.csv", "--label", "y", "--features", "32", "--model", "other"},
			{"predict", "--model", "model", "--data", "bad.csv", "--out", "predictions"},
			{"evaluate", "--model", "model", "--data", "bad.csv"},
			{"inspect", "--data", "bad.csv", "--label", "y"},
		} {
			t.Run(runner+"/"+args[0], func(t *testing.T) {
				refuse(t, dir, 3, want, append(args, "--runner", runner)...)
			})
		}
	}
}

func TestFilesWithOtherColumnsAreRejected(t *testing.T) {
	dir := trained(t)
	write(t, dir, "other.csv", "x1,z,y\n1,2,a\n")
	write(t, dir, "unlabelled.csv", "x1,x2\n1,2\n")
	for file, want := range map[string]string{
		"other.csv":      "other.csv: its columns do not match table.csv: missing column x2; have x1, z, y",
		"unlabelled.csv": `unlabelled.csv: its columns do not match table.csv: column "y", the label, is missing`,
	} {
		refuse(t, dir, 3, []string{want}, "train", "--data", "table.csv", "--data", file, "--label", "y", "--features", "32",
			"--model", "new")
	}
	refuse(t, dir, 3, []string{"other.csv: missing column x2; have x1, z, y"}, "predict", "--model", "model", "--data",
		"other.csv", "--out", "predictions")
	write(t, dir, "wide.csv", "1,2,3,4,5\n")
	refuse(t, dir, 3, []string{"wide.csv: ", "want 2"}, "predict", "--model", "model", "--data", "wide.csv", "--header",
		"no", "--out", "predictions")
}

func TestColumnOrderDoesNotAffectTheModel(t *testing.T) {
	t.Parallel()
	first, second := quadrants(60), quadrants(120)[61:]
	var turned []string
	for _, line := range append([]string{"x1,x2,y"}, second...) {
		f := strings.Split(line, ",")
		turned = append(turned, f[2]+","+f[0]+","+f[1])
	}
	dir := t.TempDir()
	write(t, dir, "first.csv", replaced(first, nil))
	write(t, dir, "second.csv", replaced(append([]string{first[0]}, second...), nil))
	write(t, dir, "turned.csv", replaced(turned, nil))
	for _, other := range []string{"second", "turned"} {
		must(t, dir, "train", "--data", "first.csv", "--data", other+".csv", "--label", "y", "--features", "32",
			"--model", other)
	}
	sameModel(t, dir, "second", "turned")
}

// sameModel checks that two model directories hold the same bytes.
func sameModel(t *testing.T, dir, a, b string) {
	t.Helper()
	for _, file := range []string{"manifest.json", "weights.safetensors"} {
		if read(t, dir, a, file) != read(t, dir, b, file) {
			t.Errorf("%s and %s differ in %s", a, b, file)
		}
	}
}

// runWatched runs the program and returns the most memory it had, in MiB, as the
// kernel counts it for the program itself: what wait4 reports of a process begins
// with the size of the one that started it.
func runWatched(t *testing.T, cmd *exec.Cmd) (r result, peak int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(cmd.Environ(), usualGC...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	watched := make(chan int)
	go func() {
		most := 0
		for {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
			if _, rest, found := strings.Cut(string(status), "VmHWM:"); found {
				var kib int
				if n, _ := fmt.Sscan(rest, &kib); n == 1 {
					most = max(most, kib/1024)
				}
			}
			select {
			case <-done:
				watched <- most
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	cmd.Wait() // its error is the exit code
	close(done)
	return result{cmd.ProcessState.ExitCode(), stdout.String(),
		tenSeconds.ReplaceAllString(stderr.String(), "")}, <-watched
}

func TestMemoryOfAnEndlessLineIsBounded(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the unit of the resident size is known on Linux only")
	}
	const mega, size, limit = 1 << 20, 100, 140
	for name, c := range map[string]struct {
		before, line, behind string
		args                 []string
		code                 int
		want                 []string
	}{
		"a number": {"x1,x2,y\n1,2,a\n", "1", ",1,a\n3,4,b\n", nil, 3,
			[]string{"long.csv:3: is longer than 16777216 bytes", mend}},
		"a quote": {"x1,x2,y\n1,2,a\n\"", "1\n", "\",1,a\n3,4,b\n", nil, 3,
			[]string{"long.csv:3:1: the quote opened in this field is not closed within 16777216 bytes", mend}},
		"the header": {"", "x", ",x2,y\n1,2,a\n", nil, 3,
			[]string{"long.csv: its first line is longer than 1048576 bytes; is this a table?"}},
		"a row set aside": {"x1,x2,y\n1,2,a\n", "1", ",1,a\n3,4,b\n5,6,a\n", []string{"--max_bad_fraction", "0.5"}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f, err := os.Create(filepath.Join(dir, "long.csv"))
			if err != nil {
				t.Fatal(err)
			}
			w := bufio.NewWriter(f)
			w.WriteString(c.before)
			for range size {
				w.WriteString(strings.Repeat(c.line, mega/len(c.line)))
			}
			w.WriteString(c.behind)
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			f.Close()
			cmd := program(dir, trainOn("long.csv", append([]string{"--label", "y", "--header", "yes"}, c.args...)...)...)
			r, peak := runWatched(t, cmd)
			if c.code == 0 {
				if r.code != 0 {
					t.Errorf("exit code %d: %s", r.code, r.stderr)
				}
				if got, want := read(t, dir, "model",
					"set_aside.jsonl"), `{"file":"long.csv","line":3,"reason":"is longer than 16777216 bytes"}`+"\n"; got != want {
					t.Errorf("set aside:\n%s\nwant\n%s", got, want)
				}
			} else {
				isRefusal(t, r, c.code, c.want...)
			}
			t.Logf("the process grew to %d MiB", peak)
			if peak == 0 || peak >= limit {
				t.Errorf("the process grew to %d MiB, want less than %d", peak, limit)
			}
		})
	}
}

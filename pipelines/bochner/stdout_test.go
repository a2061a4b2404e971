package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// joined returns the text files of a directory as one, with one header.
func joined(t *testing.T, dir, ext string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range entries(t, dir) {
		if filepath.Ext(name) != ext || !strings.HasPrefix(name, "part-") {
			continue
		}
		text := read(t, dir, name)
		if ext == ".csv" && all.Len() > 0 {
			_, text, _ = strings.Cut(text, "\n")
		}
		all.WriteString(text)
	}
	return all.String()
}

func TestPredictWritesToStandardOutput(t *testing.T) {
	t.Parallel()
	dir, tmp := t.TempDir(), t.TempDir()
	write(t, dir, "train.csv", typedTable(typedHeader, typedRows(400, 1)))
	must(t, dir, append([]string{"train", "--label", "y", "--id_column", "id", "--data", "train.csv", "--model", "model"},
		smallModel...)...)
	rows := typedRows(3000, 2)
	rows[2500] = "bad,1"
	write(t, dir, "new.csv", typedTable(typedHeader, rows))
	before := entries(t, dir)
	predict := []string{"predict", "--model", "model", "--data", "new.csv", "--out", "-", "--scores"}
	runIn := func(stdout io.Writer, args ...string) (code int, stderr string) {
		cmd := program(dir, args...)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr, cmd.Env = stdout, &said, append(os.Environ(), "TMPDIR="+tmp)
		cmd.Run() // the exit code is enough
		if left := entries(t, tmp); len(left) > 0 {
			t.Errorf("%v: left in the temporary directory: %v", args, left)
		}
		return cmd.ProcessState.ExitCode(), said.String()
	}
	for format, ext := range map[string]string{"csv": ".csv", "jsonl": ".jsonl"} {
		allow := []string{"--out_format", format, "--max_bad_fraction", "0.1"}
		must(t, dir, slices.Concat(predict[:5], allow, []string{"--scores", "--out", format, "--shard_bytes", "20000"})...)
		want := joined(t, filepath.Join(dir, format), ext)
		before = append(before, format)
		for _, cut := range [][]string{nil, {"--shard_bytes", "20000"},
			{"--shard_bytes", "20000", "--runner", "prism", "--readers", "3"}} {
			var out bytes.Buffer
			code, said := runIn(&out, slices.Concat(predict, allow, cut)...)
			if code != 0 || out.String() != want || len(want) < 50_000 {
				t.Errorf("%s, %v: exit code %d; %d bytes, want %d\n%s", format, cut, code, out.Len(), len(want), said)
			}
			if !strings.Contains(said, "3,000 read = 2,999 used + 1 set aside") ||
				!strings.Contains(said, "new.csv:2502: has 2 fields, want 7") {
				t.Errorf("the summary is %s", said)
			}
		}
	}
	if code, said := runIn(io.Discard, append(predict, "--max_bad_fraction", "0.1", "--quiet")...); code != 0 ||
		said != "" {
		t.Errorf("--quiet: exit code %d, says %q", code, said)
	}
	// A row that cannot be read, and no predictions at all.
	var out bytes.Buffer
	if code, said := runIn(&out, predict...); code != 3 || out.Len() > 0 || !strings.Contains(said, "new.csv:2502") {
		t.Errorf("exit code %d, %d bytes; %s", code, out.Len(), said)
	}
	// A reader that has seen enough.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if code, said := runIn(w, append(predict, "--max_bad_fraction", "0.1")...); code != 0 || said != "" {
		t.Errorf("exit code %d; %s", code, said)
	}
	w.Close()
	slices.Sort(before)
	if after := entries(t, dir); !slices.Equal(before, after) {
		t.Errorf("files %v, were %v", after, before)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--out_format", "parquet"}, "--out - writes csv or jsonl, not parquet; give a directory with --out"},
		{[]string{"--out_format", "xml"}, "--out_format must be csv, jsonl or parquet"},
		{[]string{"--runner", "flink", "--endpoint", "localhost:1"},
			"--out - writes to the standard output of this process, which the workers of --runner flink do not share"},
	} {
		if code, said := runIn(io.Discard, append(predict, c.args...)...); code != 2 || !strings.Contains(said, c.want) {
			t.Errorf("%v: exit code %d, %s", c.args, code, said)
		}
	}
}

func TestIdentifiersWithTheNameOfAnotherColumnAreRejected(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "train.csv", typedTable(strings.Replace(typedHeader, "id,", "line,", 1), typedRows(200, 1)))
	must(t, dir, append([]string{"train", "--label", "y", "--id_column", "line", "--data", "train.csv", "--model",
		"model"}, smallModel...)...)
	must(t, dir, "predict", "--model", "model", "--data", "train.csv", "--out", "out")
	r := run(t, dir, "predict", "--model", "model", "--data", "train.csv", "--out", "lines", "--lines")
	if r.code != 3 || !strings.Contains(r.stderr,
		`the copied column "line" has the name of another column of the predictions`) {
		t.Errorf("exit code %d, %s", r.code, r.stderr)
	}
}

// A column "error" whose effect would have the name of the error of the effects is rejected, except in objects.
func TestPredictionColumnsWithOneNameAreRejected(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var rows strings.Builder
	rows.WriteString("error,x,y\n")
	for i := range 60 {
		fmt.Fprintf(&rows, "%d,%d,%d\n", i%7, i%5, i%7+i%5)
	}
	write(t, dir, "train.csv", rows.String())
	must(t, dir, append([]string{"train", "train.csv", "--label", "y", "--task", "regression", "--model", "model"},
		smallModel...)...)
	predict := []string{"predict", "--model", "model", "train.csv", "--explain", "--quiet", "--out"}
	for _, out := range []string{"out.csv", "out.parquet", "out"} {
		r := run(t, dir, append(predict, out)...)
		if want := `two columns of the predictions would have the name "effect_error"`; r.code != 3 ||
			!strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit code %d, %s, want %s", out, r.code, r.stderr, want)
		}
	}
	must(t, dir, append(predict, "out.jsonl")...)
}

// Data on standard input gives the same as in a file, and nothing is left behind.
func TestStandardInputGivesTheSameAsAFile(t *testing.T) {
	t.Parallel()
	dir, tmp := t.TempDir(), t.TempDir()
	text := typedTable(typedHeader, typedRows(200, 3))
	write(t, dir, "data.csv", text)
	args := append([]string{"train", "--label", "y", "--id_column", "id"}, smallModel...)
	must(t, dir, append(args, "--data", "data.csv", "--model", "model")...)
	piped := func(text string, args ...string) result {
		cmd := program(dir, args...)
		cmd.Stdin = strings.NewReader(text)
		cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
		return runCommand(t, cmd)
	}
	if r := piped(text, append(args, "--data", "-", "--model", "piped")...); r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.stderr)
	}
	sameModel(t, dir, "model", "piped")
	must(t, dir, "predict", "--model", "model", "--data", "data.csv", "--out", "predictions")
	if r := piped(text, "predict", "--model", "model", "--data", "-", "--out", "-"); r.code != 0 ||
		r.stdout != read(t, dir, "predictions", "part-00000.csv") {
		t.Errorf("exit code %d: %s\n%s", r.code, r.stderr, r.stdout)
	}
	bad := text + "r9,old,osaka,true,2024-02-03,constant,no\n"
	if r := piped(bad, "predict", "--model", "model", "--data", "-", "--out", "-"); r.code != 3 || r.stdout != "" ||
		!strings.Contains(r.stderr, `standard input:202:2: column "age": "old" is not a number`) {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
	if left := tree(t, tmp); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A job that has created its output reports that if something else cannot be written: a picture in a directory
// that does not exist, or the summary on a full disk. It does not advise to resume, which would find the output
// in its way; nor does a job whose state is temporary.
func TestFinishedJobIsReportedIfALaterWriteFails(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "300", "--out", "train.csv")
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	common := []string{"--data", "train.csv", "--label", "y", "--features", "32", "--quiet"}
	for name, c := range map[string]struct {
		args  []string
		full  bool // standard output
		wants []string
		made  string
	}{
		"curve of train": {[]string{"train", "--learner", "svm", "--model", "m1", "--curve", "/proc/none/c.png"}, false,
			[]string{"/proc/none/c.png", "\nm1 is complete\n"}, "m1"},
		"curve of align": {[]string{"align", "--out", "m2", "--chains", "2", "--steps", "2", "--curve", "/proc/none/c.png"},
			false, []string{"/proc/none/c.png", "\nm2 is complete\n"}, "m2"},
		"picture": {[]string{"embed", "--model", "m3", "--picture", "/proc/none/c.png"}, false,
			[]string{"/proc/none/c.png", "\nm3 is complete\n"}, "m3"},
		"summary": {[]string{"train", "--model", "m4"}, true,
			[]string{"print the result: ", "\nthe job itself is done\n"}, "m4"},
		"summary as JSON": {[]string{"train", "--model", "m5", "--json"}, true,
			[]string{"print the result: ", "\nthe job itself is done\n"}, "m5"},
	} {
		cmd := program(dir, append(c.args, common...)...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if c.full {
			cmd.Stdout = full
		}
		cmd.Run()
		text := stderr.String()
		for _, want := range c.wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s: no %q", name, text, want)
			}
		}
		if code := cmd.ProcessState.ExitCode(); code != 3 || strings.Contains(text, "--resume") {
			t.Errorf("%s: exit code %d, %s", name, code, text)
		}
		if _, err := os.Stat(filepath.Join(dir, c.made)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := runProgram(t, dir, "inspect", "--write_schema", "/proc/none/s.yaml", "--data", "train.csv", "--label", "y", "--quiet")
	if r.code != 3 || !strings.Contains(r.stderr, "/proc/none/s.yaml") || strings.Contains(r.stderr, "--resume") {
		t.Errorf("schema: exit code %d, %s", r.code, r.stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".bochner*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A gate decides, and results are printed, even if a report or a picture cannot be written.
func TestResultsArePrintedIfReportsCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "300", "--out", "train.csv")
	must(t, dir, "train", "train.csv", "--label", "y", "--features", "32", "--search", "none", "--model", "model", "--quiet")
	for seed, source := range []string{"a", "b"} {
		must(t, dir, "generate", "moons", "--rows", "300", "--seed", fmt.Sprint(seed), "--out", source+".csv")
		must(t, dir, "sum", source+".csv", "--recipe", "model", "--out", "sums/source="+source, "--quiet")
	}
	scores := []string{"--model", "model", "--data", "train.csv", "--quiet"}
	failed := []string{"--gate", "error<=0"}
	both := []string{"compare", "--champion", "model", "--challenger", "model", "--data", "a.csv", "--quiet"}
	train := []string{"train", "train.csv", "--label", "y", "--features", "32", "--search", "none", "--quiet", "--model"}
	curve := []string{"--test", "0.2", "--learner", "sgd", "--rounds", "2", "--curve", "/proc/none/r.png"}
	if err := os.WriteFile(filepath.Join(dir, "r.csv"), []byte("x1,y\n1,2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code    int
		printed string
		args    []string
	}{
		{3, "test on rows that training has not read", slices.Concat(train, []string{"m1"}, curve)},
		{3, `"test": {`, slices.Concat(train, []string{"m2", "--json"}, curve)},
		{3, "held-out", slices.Concat(train, []string{"m3", "--test", "r.csv"})},
		{3, "seconds", slices.Concat(train, []string{"m4", "--timings"}, curve[2:])},
		{3, "importance", slices.Concat([]string{"inspect", "--importance", "/proc/none/r.png"}, scores)},
		{4, "accuracy", slices.Concat([]string{"evaluate", "--report", "/proc/none/r.html"}, scores, failed)},
		{4, "accuracy", slices.Concat([]string{"evaluate", "--reliability", "/proc/none/r.png"}, scores, failed)},
		{3, "accuracy", slices.Concat([]string{"evaluate", "--report", "/proc/none/r.html"}, scores)},
		{4, "challenger", slices.Concat(both, []string{"--report", "/proc/none/r.html", "--gate", "better at 95%"})},
		{3, "challenger", slices.Concat(both, []string{"--report", "/proc/none/r.html"})},
		{3, "left out", []string{"ask", "groups", "--by", "source", "--sums", "sums/*", "--report", "/proc/none/r.html"}},
		{3, "left out", []string{"ask", "groups", "--by", "source", "--sums", "sums/*", "--plot", "/proc/none/r.png"}},
	} {
		r := runProgram(t, dir, c.args...)
		if r.code != c.code || !strings.Contains(r.stdout, c.printed) || !strings.Contains(r.stderr, "r.") {
			t.Errorf("%q: exit code %d, want %d; printed %q, want %q; %s", c.args, r.code, c.code, r.stdout, c.printed, r.stderr)
		}
	}
}

// A command fails with a message if its result cannot be written to standard output. If the reader of a pipe
// has ended, such as head, there is no message.
func TestFailedWritesToStandardOutputAreErrors(t *testing.T) {
	dir := trained(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0) // what the runtime opens if standard output is closed
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	model := []string{"--model", "model", "--data", "table.csv", "--quiet"}
	predict := append([]string{"predict", "--out", "-"}, model...)
	for _, args := range [][]string{
		{"help"}, {"help", "train"}, {"train", "--help"}, {"help", "stream"}, {"version"}, {"version",
			"--json"}, {"--version"}, {"inspect", "--model", "model"},
		append([]string{"evaluate"}, model...), append([]string{"evaluate", "--json"}, model...), predict,
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		for _, c := range []struct {
			to   *os.File
			code int
			want string
		}{{full, 3, "no space left on device\n"}, {w, 0, ""}} {
			cmd := program(dir, args...)
			var stderr strings.Builder
			cmd.Stdout, cmd.Stderr = c.to, &stderr
			cmd.Run()
			if said := stderr.String(); cmd.ProcessState.ExitCode() != c.code || !strings.Contains(said, c.want) ||
				c.want == "" && said != "" {
				t.Errorf("%v to %s: exit code %d, want %d and %q: %s", args, c.to.Name(), cmd.ProcessState.ExitCode(), c.code,
					c.want, said)
			}
		}
		w.Close()
	}
	cmd := program(dir, predict...)
	var stderr strings.Builder
	cmd.Stdout, cmd.Stderr = null, &stderr
	cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 3 || !strings.Contains(stderr.String(), "standard output is closed") {
		t.Errorf("closed: exit code %d, %s", code, stderr.String())
	}
}

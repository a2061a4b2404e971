package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// libsvmOf returns a table of numbers, with a header and the label last, as LIBSVM has it.
func libsvmOf(table string) string {
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(table), "\n")[1:] {
		fields := strings.Split(line, ",")
		b.WriteString(fields[len(fields)-1])
		for i, f := range fields[:len(fields)-1] {
			fmt.Fprintf(&b, " %d:%s", i+1, f)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// backwards returns the lines of a text in reverse, after so many lines of a header.
func backwards(text string, header int) string {
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1]
	for i, j := header, len(lines)-1; i < j; i, j = i+1, j-1 {
		lines[i], lines[j] = lines[j], lines[i]
	}
	return strings.Join(lines, "")
}

func TestTrainingRowsOfAnyFormatAndScalingAreRecognised(t *testing.T) {
	t.Parallel()
	images, labels := pictures(60)
	plain, typed := plainFiles(t, 200), typedFiles(t, 200)
	labeled := []string{"--label", "y"}
	typedFlags := slices.Concat(labeled, typedRoles)
	for _, c := range []struct {
		name, file   string
		again        string   // the same rows in another order; "" if the file is used again
		flags, later []string // of train, and of compare and evaluate
		rows         int
	}{
		{"numbers.csv", plain["csv"], backwards(plain["csv"], 1), labeled, labeled, 200},
		{"numbers.jsonl", plain["jsonl"], backwards(plain["jsonl"], 0), labeled, labeled, 200},
		{"numbers.parquet", plain["parquet"], "", labeled, labeled, 200},
		{"numbers.libsvm", libsvmOf(plain["csv"]), backwards(libsvmOf(plain["csv"]), 0), nil, nil, 200},
		{"images.idx", images, "", []string{"--label_files", "labels.idx"}, []string{"--label_files", "labels.idx"}, 60},
		{"typed.csv", typed["csv"], backwards(typed["csv"], 1), typedFlags, labeled, 200},
		{"typed.jsonl", typed["jsonl"], backwards(typed["jsonl"], 0), typedFlags, labeled, 200},
		{"typed.parquet", typed["parquet"], "", typedFlags, labeled, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, c.name, c.file)
			write(t, dir, "labels.idx", labels)
			again := c.name
			if c.again != "" {
				again = "again-" + c.name
				write(t, dir, again, c.again)
			}
			scalings := []string{"auto", "none", "standard", "minmax", "unit", "searched"}
			if !long() && c.name != "numbers.csv" {
				scalings = []string{"auto", "searched"} // each format and each scaling, but not all pairs
			}
			for i, scale := range scalings {
				args := slices.Concat([]string{"train", "--data", c.name, "--features", "32", "--model", scale, "--quiet"}, c.flags)
				if scale == "searched" {
					args = append(args, "--search", "auto")
				} else {
					args = append(args, "--lambda", "1e-4", "--scale", scale)
				}
				must(t, dir, args...)
				other := scalings[max(0, i-1)]
				data := append([]string{"--data", again, "--quiet"}, c.later...)
				r := run(t, dir, append([]string{"compare", "--champion", scale, "--challenger", other}, data...)...)
				if r.code != 3 || !strings.Contains(r.stderr, scale+" was trained on files of these rows") {
					t.Errorf("%s: compare: exit code %d\n%s", scale, r.code, r.stderr)
				}
				out := must(t, dir, append([]string{"evaluate", "--model", scale}, data...)...)
				if n := fmt.Sprint(c.rows); !strings.Contains(out, "note: "+n+" of "+n+" rows are of files that the model was trained on") {
					t.Errorf("%s: evaluate:\n%s", scale, out)
				}
			}
		})
	}
}

// A file of the training data among others is recognised by its content, in any directory.
func TestFilesOfTheTrainingAreRecognisedAmongOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, n := range map[string]int{"a.csv": 100, "b.csv": 150, "new.csv": 200} {
		write(t, dir, name, plainFiles(t, n+len(name))["csv"])
	}
	write(t, dir, "copy.csv", read(t, dir, "b.csv"))
	must(t, dir, "train", "--data", "a.csv", "--data", "b.csv", "--label", "y", "--features", "32", "--lambda", "1e-4",
		"--model", "model", "--quiet")
	must(t, dir, "train", "--recipe", "model", "--data", "b.csv", "--label", "y", "--model", "later", "--quiet")
	for _, model := range []string{"model", "later"} {
		if out := must(t, dir, "evaluate", "--model", model, "--data", "copy.csv", "--data", "new.csv",
			"--quiet"); !strings.Contains(out, "note: 155 of 362 rows are of files that the model was trained on") {
			t.Errorf("%s: %s", model, out)
		}
		r := run(t, dir, "compare", "--champion", model, "--challenger", model, "--data", "copy.csv", "--data", "new.csv",
			"--quiet")
		if r.code != 3 || !strings.Contains(r.stderr, "155 of 362 rows are of files that "+model+" was trained on") {
			t.Errorf("%s: exit code %d\n%s", model, r.code, r.stderr)
		}
		if out := must(t, dir, "evaluate", "--model", model, "--data", "new.csv", "--quiet"); strings.Contains(out,
			"training data") {
			t.Errorf("%s: %s", model, out)
		}
	}
}

// The days of a retraining are recognised too. The second model is fitted to sums.
func TestDaysOfARetrainingAreRecognised(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for day := range 4 {
		at := fmt.Sprintf("data/dt=2026-01-0%d", day+1)
		if err := os.MkdirAll(filepath.Join(dir, at), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, dir, at+"/a.csv", plainFiles(t, 100+day)["csv"])
	}
	for _, day := range []string{"2026-01-03", "2026-01-04"} {
		run(t, dir, "retrain", "--models", "models", "--data", "data/dt=YYYY-MM-DD/*.csv", "--label", "y", "--features", "32",
			"--search", "none", "--day", day, "--quiet")
	}
	made, err := filepath.Glob(filepath.Join(dir, "models", "2026-01-04-*"))
	if err != nil || len(made) != 1 {
		t.Fatal(made, err)
	}
	for file, rows := range map[string]int{"data/dt=2026-01-03/a.csv": 102, "data/dt=2026-01-04/a.csv": 0} {
		out := must(t, dir, "evaluate", "--model", made[0], "--data", file, "--quiet")
		if strings.Contains(out, "rows are of files") != (rows > 0) ||
			rows > 0 && !strings.Contains(out, fmt.Sprintf("note: %d of %[1]d rows are of files", rows)) {
			t.Errorf("%s: %s", file, out)
		}
	}
	first, err := filepath.Glob(filepath.Join(dir, "models", "2026-01-03-*"))
	last, lastErr := filepath.Glob(filepath.Join(dir, "models-sums", "*", "2026-01-04-*"))
	if err != nil || lastErr != nil || len(first) != 1 || len(last) != 1 {
		t.Fatal(first, last, err, lastErr)
	}
	out := must(t, dir, "ask", "groups", "--sums", filepath.Dir(last[0])+"/20*", "--recipe", first[0], "--quiet")
	if !strings.Contains(out, "2026-01-02 *") || strings.Contains(out, "2026-01-03 *") {
		t.Errorf("the days of the recipe are not marked:\n%s", out)
	}
}

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
)

// tree returns the names of everything below dir, hidden things too.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && p != dir {
			names = append(names, strings.TrimPrefix(p, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// isRefusal checks that a run ended with the code and printed a refusal with the words.
func isRefusal(t *testing.T, r result, code int, words ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d\n%s", r.code, code, r.stderr)
	}
	jobtest.IsRefusal(t, r.stdout, r.stderr, words...)
}

// refuse runs a command in dir, in this process, and checks that it refuses with the code and the
// words, and that it leaves no file behind, in dir or in the system's directory for temporary files.
// A test that calls it cannot be parallel, because the name of that directory is the process's.
func refuse(t *testing.T, dir string, code int, words []string, args ...string) {
	t.Helper()
	before := tree(t, dir)
	tmp, usual := t.TempDir(), os.Getenv("TMPDIR")
	t.Setenv("TMPDIR", tmp)
	defer os.Setenv("TMPDIR", usual)
	isRefusal(t, run(t, dir, args...), code, words...)
	if after := tree(t, dir); !slices.Equal(before, after) {
		t.Errorf("files before %q, after %q", before, after)
	}
	if left := tree(t, tmp); len(left) > 0 {
		t.Errorf("left in the directory for temporary files: %q", left)
	}
}

// smallModel makes training quick: these tests look at what goes wrong, not at models.
var smallModel = []string{"--features", "32", "--lambda", "1e-4", "--threads", "1"}

// trainOn is the command line that trains a small model on the data, with more flags.
func trainOn(data string, more ...string) []string {
	return slices.Concat([]string{"train", "--data", data, "--model", "model"}, smallModel, more)
}

// quadrants returns n rows of two numbers and a class, as text with a header.
func quadrants(n int) []string {
	lines := []string{"x1,x2,y"}
	for i := range n {
		a, b := float64(i*37%101)/50-1, float64(i*53%97)/48-1
		class := "a"
		if a*b > 0 {
			class = "b"
		}
		lines = append(lines, fmt.Sprintf("%.3f,%.3f,%s", a, b, class))
	}
	return lines
}

// replaced joins the lines of a table, of which some are replaced: by their number,
// from 1.
func replaced(lines []string, replace map[int]string) string {
	lines = slices.Clone(lines)
	for at, text := range replace {
		lines[at-1] = text
	}
	return strings.Join(lines, "\n") + "\n"
}

// trained trains a smallModel model on a table and returns its directory, with the
// table next to it.
func trained(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir, "table.csv", replaced(quadrants(60), nil))
	must(t, dir, trainOn("table.csv", "--label", "y")...)
	return dir
}

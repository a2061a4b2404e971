package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outputOf runs a job that writes a file for each shard. It returns the lines of each
// file of the data, in the order of the parts, and the files in that order.
func outputOf(t *testing.T, dir string, args ...string) (lines map[string]string, order []string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	must(t, dir, append(args, "--out", out)...)
	var about struct {
		Parts []struct {
			Names []string
			File  string
			First int
		}
	}
	if err := json.Unmarshal([]byte(read(t, out, "manifest.json")), &about); err != nil {
		t.Fatal(err)
	}
	lines = map[string]string{}
	next := map[string]int{}
	for i, part := range about.Parts {
		if i > 0 && part.Names[0] <= about.Parts[i-1].Names[0] || part.First < next[part.File] {
			t.Errorf("%v: part %s of %s is out of order", args, part.Names[0], part.File)
		}
		next[part.File] = part.First + 1
		_, rows, _ := strings.Cut(read(t, out, part.Names[0]), "\n") // without the header
		lines[part.File] += rows
		if !slices.Contains(order, part.File) {
			order = append(order, part.File)
		}
	}
	if len(about.Parts) < 6 {
		t.Errorf("%d parts show nothing", len(about.Parts))
	}
	return lines, order
}

// The output for a row does not depend on the other files that are read, nor on their order, and the parts are
// in the order of the files and their rows.
func TestOutputFollowsTheOrderOfFiles(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "300", "--out", "a.csv")
	must(t, dir, "generate", "moons", "--rows", "200", "--seed", "2", "--out", "b.csv")
	// The columns of the third are in another order.
	rows := strings.Split(strings.TrimSpace(read(t, dir, "b.csv")), "\n")
	for i, row := range rows {
		f := strings.Split(row, ",")
		rows[i] = strings.Join([]string{f[2], f[1], f[0]}, ",")
	}
	write(t, dir, "c.csv", strings.Join(rows, "\n")+"\n")
	must(t, dir, "train", "--data", "a.csv", "--label", "y", "--features", "32", "--lambda", "1e-4", "--model", "m")
	for _, job := range [][]string{{"predict", "--scores"}, {"featurize", "--out_format", "csv"}} {
		var want map[string]string
		for _, way := range []struct {
			files string
			flags []string
		}{
			{"a.csv b.csv c.csv", nil},
			{"c.csv a.csv b.csv", nil},
			{"b.csv c.csv a.csv", []string{"--threads", "1"}},
			{"b.csv a.csv c.csv", []string{"--runner", "prism", "--readers", "3"}},
		} {
			files := strings.Fields(way.files)
			args := slices.Concat(job, []string{"--model", "m", smallShards}, way.flags)
			for _, name := range files {
				args = append(args, "--data", name)
			}
			got, order := outputOf(t, dir, args...)
			if want == nil {
				want = got
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s of %s, %v: other lines: %s", job[0], way.files, way.flags, d)
			}
			if !slices.Equal(order, files) {
				t.Errorf("%s of %s: parts of %v", job[0], way.files, order)
			}
		}
		// The label in the last column of features belongs to the row in either file.
		if want["b.csv"] != want["c.csv"] || want["a.csv"] == "" || want["a.csv"] == want["b.csv"] {
			t.Errorf("%s: rows of other columns in other order have other lines", job[0])
		}
	}
}

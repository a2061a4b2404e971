package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// If all files have no rows, every job rejects them in one sentence; among files with rows they are counted.
func TestEmptyFilesAreRejectedOrCountedAmongOthers(t *testing.T) {
	for _, format := range []string{"csv", "csv.gz", "jsonl", "parquet", "avro"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := func(name string, rows []userRow) {
				write(t, dir, name+"."+format, tables(t, rows, "user,a,b,y", func(r userRow) []string {
					return []string{r.User, fmt.Sprint(r.A), fmt.Sprint(r.B), r.Y}
				}, userSchema)[format])
			}
			file("a", nil)
			file("z", nil)
			file("full", userRows())
			why := "a." + format + ": has columns but no rows"
			if format == "jsonl" {
				why = "a." + format + ": is empty (no rows)"
			}
			train := append([]string{"train", "--label", "y", "--id_column", "user"}, smallModel...)
			train = slices.Clip(train)
			jobs := [][]string{append(train, "--model", "other"), {"inspect", "--label", "y"},
				{"predict", "--model", "model", "--out", "p"}, {"evaluate", "--model", "model"},
				{"featurize", "--model", "model", "--out", "f"}, {"sum", "--recipe", "model", "--out", "s"}, {"kernel", "--drop",
					"user,y"}}
			says(t, dir, []string{"240; 2 of 3 files without rows\n"},
				append(train, "--model", "model", "--data", "*."+format)...)
			for _, job := range jobs {
				r := run(t, dir, append(job, "--data", "a."+format)...)
				if r.code != 3 || !strings.Contains(r.stderr, why) || strings.Contains(r.stderr, "state") {
					t.Errorf("bochner %s: exit code %d, %s", job[0], r.code, r.stderr)
				}
			}
			for _, job := range jobs[1:5] {
				run := append(job, "--data", "*."+format)
				if job[0] != "evaluate" {
					says(t, dir, []string{"2 of 3 files without rows\n"}, run...)
				} else {
					must(t, dir, run...)
				}
			}
			r := run(t, dir, "inspect", "--data", "a."+format, "--data", "z."+format)
			if want := "no rows"; r.code != 3 || !strings.Contains(r.stderr, want) || format != "jsonl" &&
				!strings.Contains(r.stderr, "neither do the other files, 2 in all") {
				t.Errorf("%d, %s", r.code, r.stderr)
			}
		})
	}
}

//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pruned sums six days, promotes models of some of them, and prunes; left returns which days are left.
func pruned(t *testing.T, at, dir string, on func(args ...string) result, left func() []string) {
	t.Helper()
	do := func(args ...string) string {
		t.Helper()
		r := on(args...)
		if r.code != 0 {
			t.Fatalf("%q: exit code %d\n%s", args, r.code, r.stderr)
		}
		return r.stdout
	}
	day := func(i int) string { return fmt.Sprintf("%ssums/dt=2026-11-1%d", at, i) }
	do("train", "--search", "none", "--data", filepath.Join(dir, "0.csv"), "--label", "l", "--features", "20", "--lambda",
		"1e-4", "--model", at+"models/recipe", "--quiet")
	for i := range 6 {
		do("sum", "--recipe", at+"models/recipe", "--data", fmt.Sprintf("%s/%d.csv", dir, i), "--out", day(i), "--quiet")
	}
	do("fit", "--sums", day(0), "--sums", day(2), "--save_sums", at+"sums/total", "--model", at+"models/a", "--quiet")
	do("fit", "--sums", day(1), "--sums", day(2), "--model", at+"models/b", "--quiet")
	do("fit", "--sums", at+"sums/total", "--without", day(2), "--model", at+"models/c", "--quiet")
	prune := func(flags ...string) string {
		t.Helper()
		return do(append([]string{"prune", "--sums", at + "sums/*", "--keep", "2d"}, flags...)...)
	}
	ok := func(when, want string) {
		t.Helper()
		if got := strings.Join(left(), " "); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	if r := on("prune", "--sums", at+"sums/*", "--keep", "2d", "--models", at+"models"); r.code != 3 ||
		!strings.Contains(r.stderr, "no champion") {
		t.Errorf("without a champion: exit code %d: %s", r.code, r.stderr)
	}
	const all = "10 11 12 13 14 15 total"
	do("models", "promote", "--models", at+"models", "--model", "a")
	do("models", "promote", "--models", at+"models", "--model", "c")
	if said := prune("--models", at+"models", "--model", at+"models/b", "--plan"); !strings.Contains(said,
		"would be removed: 1 directory") || !strings.Contains(said, "dt=2026-11-13") {
		t.Error(said)
	}
	ok("a plan", all)
	// 13 is of no model; a, the previous champion, has 10 and 12, c has 10, and b is named.
	prune("--models", at+"models", "--model", at+"models/b")
	ok("old ones that no model needs", "10 11 12 14 15 total")
	if said := prune("--models", at+"models", "--json"); !strings.Contains(said, "a was fitted to it") {
		t.Error(said)
	}
	ok("b is not named", "10 12 14 15 total")
	// Without its lineage it is not known what a model needs.
	do("train", "--search", "none", "--data", filepath.Join(dir, "1.csv"), "--label", "l", "--features", "20", "--lambda",
		"1e-4", "--model", at+"models/later", "--quiet")
	do("models", "promote", "--models", at+"models", "--model", "later")
	prune("--models", at+"models")
	ok("c is the previous champion", "10 14 15 total")
	do("fit", "--sums", day(0), "--sums", day(5), "--model", at+"models/d", "--quiet")
}

func TestOldSumsThatNoModelNeedsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(3, 7))
	for i := range 6 {
		text := "x,y,l\n"
		for range 40 {
			text += pointRow(r) + "\n"
		}
		write(t, dir, fmt.Sprintf("%d.csv", i), text)
	}
	short := func(names []string) []string {
		for i := range names {
			names[i] = strings.TrimPrefix(names[i], "dt=2026-11-")
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	t.Run("disk", func(t *testing.T) {
		pruned(t, dir+"/", dir, func(args ...string) result { return run(t, dir, args...) },
			func() []string { return short(entries(t, filepath.Join(dir, "sums"))) })
		// The rest of a directory whose removal was stopped is removed.
		half := filepath.Join(dir, "sums/dt=2026-11-09")
		if err := os.CopyFS(half, os.DirFS(filepath.Join(dir, "sums/dt=2026-11-10"))); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(half, "manifest.json")); err != nil {
			t.Fatal(err)
		}
		must(t, dir, "prune", "--sums", "sums/*", "--keep", "2d", "--models", "models")
		if got := short(entries(t, filepath.Join(dir, "sums"))); slices.Contains(got, "dt=2026-11-09") ||
			slices.Contains(got, "09") {
			t.Errorf("left: %v", got)
		}
		if err := os.Remove(filepath.Join(dir, "models/later/lineage.json")); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			flags string
			code  int
			want  string
		}{
			{"--sums sums/* --keep 2d --models models", 3, "has no lineage.json"},
			{"--sums sums/* --keep 2d", 2, "--models is missing"},
			{"--sums sums/* --keep 2 --models models", 2, "--keep must be"},
			{"--sums sums/* --models models", 2, "--keep"},
			{"--keep 2d --models models", 2, "--sums"},
		} {
			if r := run(t, dir, append([]string{"prune"}, strings.Fields(c.flags)...)...); r.code != c.code ||
				!strings.Contains(r.stderr, c.want) {
				t.Errorf("%s: exit code %d: %s", c.flags, r.code, r.stderr)
			}
		}
	})
	t.Run("bucket", func(t *testing.T) {
		s := newObjects(t, "-faults", "0.1")
		pruned(t, bucket, dir, func(args ...string) result { return run(t, dir, s.flags(args...)...) },
			func() (days []string) {
				for _, name := range s.names(t, "sums/") {
					days = append(days, strings.Split(name, "/")[0])
				}
				return short(days)
			})
	})
}

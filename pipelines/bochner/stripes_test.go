//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// stripesOf is how many stripes a job says that it adds sums up in; 1 if it says nothing.
func stripesOf(said string) int {
	m := regexp.MustCompile(`(?:added up|stored) in (\d+) stripes`).FindStringSubmatch(said)
	if m == nil {
		return 1
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// stripesTheSame checks that jobs whose workers have room only for stripes of their sums make what jobs with
// one stripe make in this process, byte for byte. job runs one on the workers.
func stripesTheSame(t *testing.T, dir string, job func(args ...string) result) {
	t.Helper()
	must(t, dir, "generate", "moons", "--rows", "300", "--out", "moons.csv")
	must(t, dir, "generate", "moons", "--rows", "250", "--seed", "2", "--out", "more.csv")
	train := []string{"train", "--data", "moons.csv", "--label", "y", "--search", "none", "--features", "1000", "--lambda",
		"1e-3,1e-5", "--folds", "3", "--model"}
	for _, c := range []struct {
		name  string
		args  []string
		bytes int // for a worker
	}{
		{"train", train, 90_000_000},
		{"few rows", append(slices.Clone(train[:len(train)-1]), "--features", "1024", "--model"), 86_500_000},
		{"train --recipe", []string{"train", "--recipe", "one/train", "--data", "more.csv", "--model"}, 90_000_000},
		{"sum", []string{"sum", "--recipe", "one/train", "--data", "more.csv", "--out"}, 90_000_000},
		{"embed", []string{"embed", "--data", "moons.csv", "--label", "y", "--features", "1000", "--components", "2",
			"--model"}, 84_000_000},
	} {
		one, some := filepath.Join("one", c.name), filepath.Join("some", c.name) // the manifest of sums has the name
		must(t, dir, append(slices.Clone(c.args), one, smallShards)...)
		r := job(append(slices.Clone(c.args), some, smallShards, "--readers", "2", "--worker_bytes", fmt.Sprint(c.bytes))...)

		if r.code != 0 || stripesOf(r.stderr) < 2 {
			t.Errorf("%s: exit code %d, or one stripe\n%s", c.name, r.code, r.stderr)
			continue
		}
		want, got := files(t, filepath.Join(dir, one)), files(t, filepath.Join(dir, some))
		if len(want) < 2 || len(got) != len(want) {
			t.Errorf("%s: %d files, want %d", c.name, len(got), len(want))
		}
		for name, data := range want {
			if got[name] != data {
				t.Errorf("%s: another %s: %s", c.name, name, cmp.Diff(data, got[name]))
			}
		}
	}
}

// Few rows give the same bytes if they are stored, if they are summed, and if memory requires to sum them in
// stripes.
func TestStripesOfFewRowsMakeTheSameModel(t *testing.T) {
	campaign.Long(t)
	t.Setenv("GOMAXPROCS", "2") // each thread takes memory
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "900", "--out", "moons.csv")
	train := []string{"train", "--data", "moons.csv", "--label", "y", "--search", "none", "--features", "1024",
		"--folds", "3"}
	for _, c := range []struct {
		name        string
		args        []string
		out         string // flag
		bytes       int
		says, other string
	}{
		{"carried", train, "--model", 90_000_000, " of features, stored in ", "sums of"},
		{"sum", []string{"sum", "--recipe", "one/carried", "--data", "moons.csv"}, "--out", 97_000_000,
			"3 sums of 5.7 MB in each of 1 reader, added up in ", "of features, "},
		{"train --recipe", []string{"train", "--recipe", "one/carried", "--data", "moons.csv"}, "--model", 97_000_000,
			", added up in ", "of features, "},
	} {
		one, some := filepath.Join("one", c.name), filepath.Join("some", c.name)
		must(t, dir, append(slices.Clone(c.args), c.out, one)...)
		r := run(t, dir, append(slices.Clone(c.args), c.out, some, "--worker_bytes", fmt.Sprint(c.bytes))...)
		if r.code != 0 || !strings.Contains(r.stderr, c.says) || strings.Contains(r.stderr, c.other) {
			t.Errorf("%s: exit code %d, want %q\n%s", c.name, r.code, c.says, r.stderr)
			continue
		}
		if diff := cmp.Diff(files(t, filepath.Join(dir, one)), files(t, filepath.Join(dir, some))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	r := run(t, dir, append(slices.Clone(train), "--model", "beyond", "--worker_bytes", "65000000")...)
	if want := "--worker_bytes 65000000 cannot be kept: a worker needs at least "; r.code != 0 ||
		!strings.Contains(r.stderr, want) {
		t.Errorf("exit code %d, want %q\n%s", r.code, want, r.stderr)
	}
}

func TestStripesOnSeparateWorkersMakeTheSameModel(t *testing.T) {
	campaign.Long(t)
	c, dir := newCluster(t), t.TempDir()
	stripesTheSame(t, dir, func(args ...string) result { return runCommand(t, c.job(dir, args...)) })
}

func TestStripesOnFlinkMakeTheSameModel(t *testing.T) {
	c, dir := newFlink(t), t.TempDir()
	stripesTheSame(t, dir, func(args ...string) result { return c.run(t, dir, nil, args...) })
}

// A training run that was killed while it added up stripes, or later, is resumed with another number of them.
func TestResumedTrainingMayUseOtherStripes(t *testing.T) {
	campaign.Long(t)
	t.Setenv("GOMAXPROCS", "2") // each thread takes memory
	c := training(t, choreData(t, "3000"), "--features", "1000", "--readers", "1")
	plain := slices.Clone(c.args)
	if said := run(t, choreData(t, "3000"),
		append(slices.Clone(plain), "--worker_bytes", "100000000")...).stderr; stripesOf(said) != 5 {
		t.Errorf("5 stripes fit in 100 MB, says the plan, and the training:\n%s", said)
	}
	for bytes, stripes := range map[string]int{"110000000": 3, "1000000000": 1} {
		for _, phase := range []struct{ file, found string }{{"state/parts/part*", ""},
			{"state/sum-*.jsonl", "found the sums of all rows"}} {
			c.args = append(slices.Clone(plain), "--worker_bytes", "100000000")
			c.kill(t, phase.file)
			c.args[len(c.args)-1] = bytes
			said := c.resume(t, "killed at "+phase.file)
			if !strings.Contains(said, phase.found) || stripesOf(said) != stripes {
				t.Errorf("killed at %s, the resumed run does not say %q and %d stripes:\n%s", phase.file, phase.found,
					stripes, said)
			}
		}
	}
}

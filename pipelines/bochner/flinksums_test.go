//go:build linux

package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The outputs of sum, fit, forget, verify, retrain and train --recipe on Flink equal the local ones.
func TestFlinkMakesTheLocalSums(t *testing.T) {
	c := newFlink(t)
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "150", "--seed", "2", "--out", "whole.csv")
	write(t, dir, "gone.csv", strings.Join(strings.SplitAfter(read(t, dir, "whole.csv"), "\n")[:8], ""))
	on := func(args ...string) result { return runProgram(t, dir, args...) }
	want := sumJobs(t, dir+"/direct/", on)
	got := sumJobs(t, dir+"/flink/", on, append([]string{"--readers", "2"}, c.flags...)...)
	for name, sum := range want {
		if got[name] != sum {
			t.Errorf("%s differs", name)
		}
	}
	if a, b := entries(t, filepath.Join(dir, "direct")), entries(t, filepath.Join(dir, "flink")); !slices.Equal(a, b) {
		t.Errorf("in one process there are %v, on Flink %v", a, b)
	}
}

// A pipeline of another module gives the same on Flink as in one process: predictions with their rows, scores
// and models of three days that come mixed, and its own recipe.
func TestFlinkMakesTheLocalRows(t *testing.T) {
	c := newFlink(t)
	dir := t.TempDir()
	predictions, model := strangersPoints(t, dir)
	program := strangersRows(t, dir, nil)
	// Workers are this program, which links the runner by its other name.
	flags := append(slices.Clone(c.flags), "--runner", "universal", "--worker_binary", program)
	var days []string
	for name, flags := range map[string][]string{"direct": {"--runner=direct"}, "flink": flags} {
		in := func(name string) string { return filepath.Join(dir, name) }
		r := runCommand(t, exec.Command(program, append(slices.Clone(flags), in("model"), in("points.csv"), in(name))...))
		if r.code != 0 {
			t.Fatalf("%s: exit code %d\n%s%s", name, r.code, r.stdout, r.stderr)
		}
		lines := slices.Sorted(strings.Lines(read(t, dir, name, "predictions")))
		if d := cmp.Diff(predictions, strings.Join(lines, "")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if digestOf(t, filepath.Join(dir, name, "models", "sums")) != model {
			t.Errorf("%s: the model differs from bochner train --recipe", name)
		}
		days = append(days, strangersDays(t, dir, name))
	}
	if d := cmp.Diff(days[0], days[1]); d != "" {
		t.Errorf("Flink differs: %s", d)
	}
}

//go:build linux

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What sum, fit, forget, verify, retrain and train --recipe make on Flink is what they make in one
// process.
func TestFlinkSums(t *testing.T) {
	c := newFlink(t)
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "150", "--seed", "2", "--out", "whole.csv")
	write(t, dir, "gone.csv", strings.Join(strings.SplitAfter(read(t, dir, "whole.csv"), "\n")[:8], ""))
	on := func(args ...string) result { return run(t, dir, args...) }
	want := sumJobs(t, dir+"/direct/", on)
	got := sumJobs(t, dir+"/flink/", on, append([]string{"--lanes", "2"}, c.flags...)...)
	for name, sum := range want {
		if got[name] != sum {
			t.Errorf("%s differs", name)
		}
	}
	if a, b := entries(t, filepath.Join(dir, "direct")), entries(t, filepath.Join(dir, "flink")); !slices.Equal(a, b) {
		t.Errorf("in one process there are %v, on Flink %v", a, b)
	}
}

//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Directories of which one contains the other are rejected before anything is read.
func TestNestedDirectoriesAreRejected(t *testing.T) {
	dir := trained(t)
	if err := os.Symlink(".", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	train := []string{"train", "--data", "none.csv", "--label", "y"}
	predict := []string{"predict", "--data", "none.csv", "--model", "model"}
	for _, c := range []struct {
		job  []string
		more []string
		want string
	}{
		{train, []string{"--model", "m", "--work", "m/w"}, "--work m/w is inside --model m: give a directory next to it"},
		{train, []string{"--model", "w/m", "--work", "w"}, "--model w/m is inside --work w: give"},
		{train, []string{"--model", "m", "--work", "./m/"}, "--model and --work are the same directory, m: give another"},
		{train, []string{"--model", "m", "--work", "link/m/w"}, "--work link/m/w is inside --model m"},
		{predict, []string{"--out", "model/p"}, "--out model/p is inside --model model"},
		{predict, []string{"--out", "p", "--work", "model/w"}, "--work model/w is inside --model model"},
		{predict, []string{"--out", "p", "--work", "p"}, "--out and --work are the same directory"},
	} {
		refuse(t, dir, 2, []string{c.want}, slices.Concat(c.job, c.more)...)
	}
}

// unremovable makes a directory that the user nobody cannot remove: it contains a file of another
// user. If the test does not run as root, the missing right to write has the same effect.
func unremovable(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(name, 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, name, "file", "of another user")
	if err := os.Chmod(name, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(name, 0o777) })
}

func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bochner-owner-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "table.csv", replaced(quadrants(60), nil))
	return dir
}

// A job that cannot remove the files of a worker of another user reports them, and the next one names the
// command that helps.
func TestFilesOfAnotherUserAreReported(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	job := trainOn("table.csv", "--label", "y", "--resume")
	s := &chore{dir: dir, args: job}
	work := filepath.Join(dir, ".bochner-model")
	if err := os.MkdirAll(filepath.Join(work, "state"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, open := range []string{work, filepath.Join(work, "state")} {
		if err := os.Chmod(open, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	write(t, work, "bochner-work", "")
	unremovable(t, filepath.Join(work, "state", "parts-of-root"))
	r := runCommand(t, asNobody(t, program(dir,
		slices.DeleteFunc(s.args, func(a string) bool { return a == "--quiet" })...)))
	if r.code != 0 || !strings.Contains(r.stderr, "cannot remove the work directory "+work) ||
		!strings.Contains(r.stderr, "rm -r "+work) {
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	if err := os.RemoveAll(filepath.Join(dir, "model")); err != nil {
		t.Fatal(err)
	}
	again := trainOn("table.csv", "--label", "y")
	r = runCommand(t, asNobody(t, program(dir, again...)))
	if r.code != 3 || !strings.Contains(r.stderr, "(rm -r "+work+"), or give another directory with --work") {
		t.Errorf("the next run: exit code %d\n%s", r.code, r.stderr)
	}
	if r = runCommand(t, asNobody(t, program(dir, append(again, "--work", "other")...))); r.code != 0 {
		t.Errorf("with another work directory: exit code %d\n%s", r.code, r.stderr)
	}
}

// The files that a killed run of another user has left next to a name do not keep the output from being made.
func TestUnfinishedOutputOfAnotherUserDoesNotBlock(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	unremovable(t, filepath.Join(dir, ".tmp-model-0123456789abcdef"))
	claim := filepath.Join(dir, ".tmp-model-claim")
	write(t, dir, ".tmp-model-claim", "{}")
	if err := os.Chmod(claim, 0o444); err != nil {
		t.Fatal(err)
	}
	args := slices.DeleteFunc(trainOn("table.csv", "--label", "y"), func(a string) bool { return a == "--quiet" })
	r := runCommand(t, asNobody(t, program(dir, args...)))
	if r.code != 0 || !strings.Contains(r.stderr, "cannot remove the files of a killed run next to model:") {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
}

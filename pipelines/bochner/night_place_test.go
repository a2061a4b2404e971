//go:build linux

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/gcstest"
)

// If the disk is full, retrain names a command that exists: the same one, since retrain has neither --resume
// nor --work.
func TestNightOnAFullDiskIsContinuedByTheSameCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for day := 1; day < 3; day++ {
		at := filepath.Join(dir, fmt.Sprintf("data/dt=2026-11-0%d", day))
		if err := os.MkdirAll(at, 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, at, "a.csv", replaced(quadrants(60+day), nil))
	}
	if err := os.Mkdir(filepath.Join(dir, "disk"), 0o777); err != nil {
		t.Fatal(err)
	}
	r, _ := onSmallDisk(t, dir, 256<<10, "retrain", "--models", "disk/models", "--data", "data/dt=YYYY-MM-DD/*.csv",
		"--day", "2026-11-02",
		"--label", "y", "--features", "512", "--lambda", "1e-4", "--search", "none", "--threads", "1", "--quiet")
	if r.code != 3 || !strings.Contains(r.stderr, "no space left on the device") ||
		!strings.Contains(r.stderr, ": the same command continues from there") ||
		strings.Contains(r.stderr, "--resume") || strings.Contains(r.stderr, "--work") {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
}

// A request that is denied ends a job with exit code 3, which is not retried, for every kind of request.
func TestMissingBucketRightsAreDataErrors(t *testing.T) {
	s := newObjects(t)
	dir := t.TempDir()
	const bucket = "gs://bucket/"
	must(t, dir, s.flags("generate", "moons", "--rows", "300", "--out", bucket+"data.csv")...)
	train := func(model string) []string {
		return s.flags("train", "--data", bucket+"data.csv", "--label", "y", "--features", "32", "--lambda", "1e-4",
			"--model", bucket+model, "--quiet")
	}
	for _, kind := range []string{"list", "read", "write", "stat"} {
		for way, code := range map[string]int{gcstest.Forbidden: 3, gcstest.Limited: 5} {
			s.rules(t, gcstest.Rules{Share: 1, Kinds: []string{kind}, Ways: []string{way}})
			if r := runProgram(t, dir, train("m-"+kind+way)...); r.code != code {
				t.Errorf("%s %s: exit code %d, want %d\n%s", kind, way, r.code, code, r.stderr)
			}
		}
	}
	s.rules(t, gcstest.Rules{Share: 1, Kinds: []string{"delete"}, Ways: []string{gcstest.Forbidden}})
	if r := runProgram(t, dir, train("model")...); r.code != 3 ||
		!strings.Contains(r.stderr, "has the right storage.objects.delete there") {
		t.Errorf("without the right to delete: exit code %d\n%s", r.code, r.stderr)
	}
}

// Work directories hold rows of the data, so only their owner can read them. Outputs have the permissions that
// the umask leaves.
func TestWorkDirectoriesArePrivateAndOutputsAreNot(t *testing.T) {
	t.Parallel()
	dir := trained(t)
	must(t, dir, "predict", "--model", "model", "--data", "table.csv", "--out", "made/predictions", "--quiet")
	if err := os.Mkdir(filepath.Join(dir, "disk"), 0o777); err != nil {
		t.Fatal(err)
	}
	// The disk of the model is full, so that the work stays.
	r, _ := onSmallDisk(t, dir, 4<<10, "train", "--data", "table.csv", "--label", "y", "--features", "512", "--lambda",
		"1e-4", "--model", "disk/model", "--work", "work", "--quiet")
	if r.code != 3 {
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	for name, others := range map[string]fs.FileMode{"made": 0o044, "model": 0o044, "work": 0} {
		files := 0
		err := filepath.WalkDir(filepath.Join(dir, name), func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if !d.IsDir() {
				files++
			}
			if fi, err := d.Info(); err != nil || fi.Mode().Perm()&0o044 != others && d.Name() != "lock" { // which has no rows
				t.Errorf("%s has mode %v, and the others the rights %o: %v", p, fi.Mode(), others, err)
			}
			return nil
		})
		if err != nil || files < 2 {
			t.Errorf("%s has %d files: %v", name, files, err)
		}
	}
}

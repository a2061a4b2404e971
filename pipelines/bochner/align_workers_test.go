//go:build linux

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

func TestSeparateWorkersLearnFeatures(t *testing.T) {
	campaign.Long(t)
	c := newCluster(t)
	dir := t.TempDir()
	data := generated(t, "windmill", 700).write(t, cut{files: 3})
	args := slices.Concat([]string{"train", "--kernel", "learned", "--lambda", "1e-4", "--folds", "1"}, fewChains,
		[]string{"--features", "8", "--take", "4", "--steps", "3"}, data)
	must(t, dir, append(args, "--model", "here")...)
	args = append(args, "--model", "there", "--readers", "3", "--rounds_per_job", "20")
	if r := runCommand(t, c.job(dir, args...)); r.code != 0 {
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	if d := cmp.Diff(files(t, filepath.Join(dir, "here")), files(t, filepath.Join(dir, "there"))); d != "" {
		t.Error(d)
	}
	certified := slices.Concat([]string{"train", "--learner", "svm", "--rounds", "3", "--kernel", "learned", "--lambda",
		"1e-3"}, fewChains, []string{"--steps", "3"}, data)
	must(t, dir, append(certified, "--model", "certified")...)
	verify := slices.Concat([]string{"verify", "--model", "certified", "--work", "work"}, data)
	if r := runCommand(t, c.job(dir, verify...)); r.code != 0 || !strings.Contains(r.stdout, "the certificate holds") {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	predict := slices.Concat([]string{"predict", "--model", "here", "--scores"}, data)
	must(t, dir, append(predict, "--out", "direct")...)
	if r := runCommand(t, c.job(dir, append(predict, "--out", "remote")...)); r.code != 0 {
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	if d := cmp.Diff(read(t, dir, "direct/part-00000.csv"), read(t, dir, "remote/part-00000.csv")); d != "" {
		t.Error(d)
	}
}

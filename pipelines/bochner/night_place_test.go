//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/gcstest"
)

// Whichever right is missing, the place is refused: trying again does not help.
func TestMissingRightsAtABucketAreRefusals(t *testing.T) {
	s := newObjects(t)
	dir := t.TempDir()
	const bucket = "gs://bucket/"
	must(t, dir, s.flags("generate", "moons", "--rows", "300", "--out", bucket+"data.csv")...)
	train := func(model string) []string {
		return s.flags("train", "--data", bucket+"data.csv", "--label", "y", "--features", "32", "--lambda", "1e-4", "--model", bucket+model, "--quiet")
	}
	for _, kind := range []string{"list", "read", "write", "stat"} {
		for way, code := range map[string]int{gcstest.Forbidden: 3, gcstest.Limited: 5} {
			s.rules(t, gcstest.Rules{Share: 1, Kinds: []string{kind}, Ways: []string{way}})
			if r := run(t, dir, train("m-"+kind+way)...); r.code != code {
				t.Errorf("%s %s: exit code %d, want %d\n%s", kind, way, r.code, code, r.stderr)
			}
		}
	}
	s.rules(t, gcstest.Rules{Share: 1, Kinds: []string{"delete"}, Ways: []string{gcstest.Forbidden}})
	if r := run(t, dir, train("model")...); r.code != 3 || !strings.Contains(r.stderr, "has the right storage.objects.delete there") {
		t.Errorf("without the right to delete: exit code %d\n%s", r.code, r.stderr)
	}
}

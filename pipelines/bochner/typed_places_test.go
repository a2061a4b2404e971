//go:build linux

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/storage/gcs"
)

// typedJobs trains on a typed table with weights, target statistics and identifiers, evaluates by
// slices, and predicts. It returns the files and the scores, without the place where they are.
func typedJobs(t *testing.T, at, format string, on func(args ...string) result) map[string]string {
	t.Helper()
	do := func(args ...string) string {
		t.Helper()
		r := on(append(args, "--quiet", "--shard_bytes", "2000")...)
		if r.code != 0 {
			t.Fatalf("%q: exit code %d\n%s", args, r.code, r.stderr)
		}
		return strings.ReplaceAll(r.stdout, at, "")
	}
	data, model := at+"data."+format, at+"model-"+format
	do(append([]string{"train", "--data", data, "--label", "y", "--model", model, "--search", "none", "--features", "32",
		"--lambda", "1e-3,1e-5",
		"--encode", "target", "--class_weight", "balanced"}, typedRoles...)...)
	made := map[string]string{"scores": do("evaluate", "--model", model, "--data", data, "--slices", "colour,day",
		"--json", "--work", at+"work-"+format)}
	do("predict", "--model", model, "--data", data, "--out", at+"out-"+format)
	for _, name := range []string{model + "/manifest.json", model + "/weights.safetensors",
		at + "out-" + format + "/part-00000.csv"} {
		text, err := storage.ReadFile(t.Context(), name, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		made[strings.TrimPrefix(name, at)] = string(text)
	}
	return made
}

// A typed table gives the same model, scores of slices and predictions on the disk, in a bucket whose requests
// fail, and on workers in other processes.
func TestTypedTablesGiveTheSameModelEverywhere(t *testing.T) {
	campaign.Long(t)
	files := typedFiles(t, 200)
	server, address := gcstest.Start(t)
	gcs.UseEmulator(func() string { return address })
	t.Cleanup(func() { gcs.UseEmulator(func() string { return "" }) })
	c := newCluster(t)
	for _, format := range []string{"csv", "jsonl", "parquet", "avro"} {
		here, there := t.TempDir(), t.TempDir()
		for _, dir := range []string{here, there} {
			write(t, dir, "data."+format, files[format])
		}
		server.Fill("data."+format, []byte(files[format]))
		want := typedJobs(t, here+"/", format, func(args ...string) result { return runProgram(t, here, args...) })
		if !strings.Contains(want["scores"], "dark green") ||
			!strings.Contains(want["model-"+format+"/manifest.json"], `"column": "weight"`) {
			t.Fatalf("%s: no slices or no weights: %s", format, want["scores"])
		}
		for name, place := range map[string]struct {
			at string
			on func(args ...string) result
		}{
			"bucket": {bucket, func(args ...string) result {
				return runProgram(t, there,
					append(args, "--storage_emulator", address)...)
			}},
			"workers": {there + "/", func(args ...string) result {
				return runCommand(t,
					c.job(there, append(args, "--readers", "2")...))
			}},
		} {
			if name == "workers" && format != "parquet" && !long() { // takes seconds for each pass
				continue
			}
			t.Run(name+", "+format, func(t *testing.T) {
				server.Faults.Set(gcstest.Rules{Share: 0.05, Kinds: []string{"read"}})
				defer server.Faults.Set(gcstest.Rules{})
				before := server.Requests("read")
				if d := cmp.Diff(want, typedJobs(t, place.at, format, place.on)); d != "" {
					t.Errorf("%.3000s", d)
				}
				// Each of the passes reads the file by shards.
				if n, shards := server.Requests("read")-before, len(files[format])/2000; name == "bucket" && n < 4*shards {
					t.Errorf("%d requests for parts of a file of %d shards", n, shards)
				}
			})
		}
		if left := slices.DeleteFunc(entries(t, there),
			func(name string) bool { return filepath.Ext(name) == "" }); len(left) != 1 {
			t.Errorf("left behind: %v", left)
		}
	}
}

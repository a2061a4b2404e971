//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/io/storage"
)

// onS3 begins the names of the objects that tests of s3:// use.
const onS3 = "s3://" + gcstest.Bucket + "/"

// s3Files returns the files of a directory of the bucket, without those about the files of the data.
func s3Files(t *testing.T, dir string) map[string]string {
	t.Helper()
	names, err := storage.Names(t.Context(), onS3+dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, name := range names {
		if name == "lineage.json" || name == "report.html" {
			continue
		}
		data, err := storage.ReadFile(t.Context(), onS3+dir+"/"+name, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		got[name] = strings.ReplaceAll(string(data), onS3, "")
	}
	return got
}

// s3Work generates, trains, predicts, evaluates and retrains at a place, and returns what evaluate says.
func s3Work(t *testing.T, dir, at string) string {
	t.Helper()
	must(t, dir, "generate", "moons", "--rows", "2000", "--out", at+"train.csv")
	must(t, dir, "generate", "moons", "--rows", "1000", "--seed", "2", "--out", at+"test.csv")
	must(t, dir, "train", "--data", at+"tr*.csv", "--label", "y", "--model", at+"model", "--features", "64", "--lambda",
		"1e-6,1e-4", "--folds", "3", smallShards)
	must(t, dir, "predict", "--model", at+"model", "--data", at+"test.csv", "--out", at+"predictions", smallShards)
	for day := 1; day <= 2; day++ {
		if at == "" {
			if err := os.MkdirAll(filepath.Join(dir, fmt.Sprintf("days/dt=2026-01-0%d", day)), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		must(t, dir, "generate", "moons", "--rows", "500", "--seed", fmt.Sprint(day+2), "--out",
			at+fmt.Sprintf("days/dt=2026-01-0%d/x.csv", day))
	}
	must(t, dir, "retrain", "--models", at+"models", "--data", at+"days/dt=YYYY-MM-DD/*.csv", "--label", "y", "--day",
		"2026-01-02", "--features", "64", "--search", "none", "--quiet")
	must(t, dir, "predict", "--model", at+"models@champion", "--data", at+"test.csv", "--out", at+"champion")
	return must(t, dir, "evaluate", "--model", at+"model", "--data", at+"test.csv", "--json", "--quiet")
}

func TestEveryJobWorksOnS3AsOnTheDisk(t *testing.T) {
	for name, start := range gcstest.S3Servers() {
		t.Run(name, func(t *testing.T) {
			if s := start(t); s != nil {
				s.Faults.Set(gcstest.Rules{Share: 0.05, Seed: 1})
			}
			dir := t.TempDir()
			want, got := s3Work(t, dir, ""), s3Work(t, dir, onS3)
			if d := cmp.Diff(want, strings.ReplaceAll(got, onS3, "")); d != "" {
				t.Errorf("evaluate: %s", d)
			}
			for _, out := range []string{"model", "predictions", "champion"} {
				same(t, out, files(t, filepath.Join(dir, out)), s3Files(t, out))
			}
			left, err := storage.Names(t.Context(), onS3)
			slices.Sort(left)
			if d := cmp.Diff([]string{"champion", "days", "model", "models", "models-sums",
				"predictions", "test.csv", "train.csv"}, left); d != "" {
				t.Errorf("%v, %s", err, d)
			}
			r := runProgram(t, dir, "train", "--data", onS3+"train.csv", "--label", "y", "--model", onS3+"model", "--features", "64")
			if r.code != 3 || !strings.Contains(r.stderr, onS3+"model: already exists") {
				t.Errorf("a model that exists: exit code %d\n%s", r.code, r.stderr)
			}
		})
	}
}

// A training run that is killed leaves no model, or a whole one, and --resume continues.
func TestKilledTrainingOnS3LeavesAWholeModelOrNone(t *testing.T) {
	campaign.Long(t)
	s := gcstest.StartS3(t)
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "2000", "--out", onS3+"data.csv")
	args := []string{"train", "--data", onS3 + "data.csv", "--label", "y", "--features", "256", "--lambda", "1e-8,1e-4",
		"--folds", "3", "--model", onS3 + "model"}
	must(t, dir, args...)
	want := s3Files(t, "model")
	for _, at := range []string{"write .bochner-model/state/sum-*", "write model/weights.safetensors",
		"part model/manifest.json", "complete model/manifest.json", "delete .tmp-model-claim"} {
		if err := storage.Remove(t.Context(), onS3+"model"); err != nil {
			t.Fatal(err)
		}
		s.Faults.Set(gcstest.Rules{Hold: at})
		kind, _, _ := strings.Cut(at, " ")
		killed := (&chore{dir: dir, args: args}).start(t)
		if !killed.until(func() bool { return s.Faults.Seen()[kind+" held"] > 0 }) {
			t.Fatalf("the run ended before a %s: %s", at, killed.stderr.String())
		}
		killed.signal(os.Kill)
		for s.Faults.Seen()[kind+" abandoned"] < s.Faults.Seen()[kind+" held"] {
			time.Sleep(time.Millisecond)
		}
		s.Faults.Set(gcstest.Rules{})
		_, err := storage.Stat(t.Context(), onS3+"model/manifest.json")
		if whole := kind == "delete"; whole != (err == nil) {
			t.Errorf("killed at %s: %v", at, err)
		} else if !whole {
			must(t, dir, append(slices.Clone(args), "--resume")...)
		}
		same(t, "killed at "+at, want, s3Files(t, "model"))
		err = storage.CheckAbsent(t.Context(), onS3+"model")
		if !errors.Is(err, storage.ErrExists) || s.Uploads() > 0 {
			t.Errorf("killed at %s: %v, %d uploads", at, err, s.Uploads())
		}
	}
}

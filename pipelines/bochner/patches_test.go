package main

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// strokes returns records of CIFAR files: a bright stroke at a random place over noise, level in class
// 0 and upright in class 1.
func strokes(seed uint64, n int) (records []string) {
	r := rand.New(rand.NewPCG(seed, 5))
	for range n {
		class, top, left := r.IntN(2), r.IntN(23), r.IntN(23)
		record := make([]byte, 1+3*32*32)
		record[0] = byte(class)
		for i := range record[1:] {
			record[1+i] = byte(r.IntN(60))
		}
		for i := range 10 {
			at := 1 + top*32 + left + []int{i, 32 * i}[class]
			for channel := range 3 {
				record[at+1024*channel] += 120
			}
		}
		records = append(records, string(record))
	}
	return records
}

// errorOf returns the error of a model of CIFAR files on test.bin in dir.
func errorOf(t *testing.T, dir, model string) float64 {
	t.Helper()
	var scores struct{ Classes struct{ Error *float64 } }
	said := must(t, dir, "evaluate", "--model", model, "--data", "test.bin", "--format", "cifar10", "--json", "--quiet")
	if err := json.Unmarshal([]byte(said), &scores); err != nil || scores.Classes.Error == nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return *scores.Classes.Error
}

// A search of images finds features that see strokes, and searches after preprocessing steps that the user has
// set.
func TestSearchFindsFeaturesOfImages(t *testing.T) {
	campaign.Long(t)
	dir := t.TempDir()
	write(t, dir, "all.bin", strings.Join(strokes(1, 250), ""))
	write(t, dir, "test.bin", strings.Join(strokes(2, 150), ""))
	must(t, dir, "train", "--data", "all.bin", "--format", "cifar10", "--features", "128", "--search", "auto",
		"--model", "found", "--quiet")
	if said := must(t, dir, "train", "--data", "all.bin", "--format", "cifar10", "--features", "64", "--kernel", "gaussian",
		"--search", "auto", "--scale", "255,gray,patches:6:2:8", "--model", "steps"); !strings.Contains(said, "candidates on") {
		t.Errorf("features after steps are not searched:\n%s", said)
	}
	if found := errorOf(t, dir, "found"); found > 0.3 {
		t.Errorf("error %v", found)
	}
}

// Patches see strokes anywhere in an image, which the Gaussian kernel of whole images does not. The model is
// the same for all cuts into files and all readers, and sums and forgetting work as with other kernels.
func TestPatchFeaturesFindStrokesAnywhere(t *testing.T) {
	dir := t.TempDir()
	records := strokes(1, 250)
	file := func(name string, records []string) { write(t, dir, name, strings.Join(records, "")) }
	file("all.bin", records)
	file("test.bin", strokes(2, 150))
	file("left.bin", records[20:])
	file("gone.bin", records[:20])
	kernel := []string{"--format", "cifar10", "--kernel", "patches", "--features", "128", "--quiet"}
	must(t, dir, append([]string{"train", "--data", "all.bin", "--model", "m"}, kernel...)...)
	must(t, dir, "train", "--data", "all.bin", "--format", "cifar10", "--features", "128", "--search", "none",
		"--model", "gaussian", "--quiet")
	if patches, gaussian := errorOf(t, dir, "m"), errorOf(t, dir, "gaussian"); patches > 0.05 || gaussian < 0.2 {
		t.Errorf("errors %v of patches, %v of a Gaussian kernel", patches, gaussian)
	}

	rand.New(rand.NewPCG(3, 3)).Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	file("part-1.bin", records[:100])
	file("part-2.bin", records[100:])
	must(t, dir, append([]string{"train", "--data", "part-*.bin", "--model", "other", "--runner", "prism", "--readers", "3",
		"--threads", "1", "--shard_bytes=200000"}, kernel...)...)
	same(t, "other files and readers", files(t, filepath.Join(dir, "m")), files(t, filepath.Join(dir, "other")))

	must(t, dir, "sum", "--recipe", "m", "--data", "part-1.bin", "--out", "sums/1", "--quiet")
	must(t, dir, "sum", "--recipe", "m", "--data", "part-2.bin", "--out", "sums/2", "--quiet")
	must(t, dir, "fit", "--sums", "sums/*", "--model", "fitted", "--save_sums", "total", "--quiet")
	if read(t, dir, "fitted", "weights.safetensors") != read(t, dir, "m", "weights.safetensors") {
		t.Error("a fit of sums has other weights")
	}
	must(t, dir, "forget", "--model", "fitted", "--sums", "total", "--data", "gone.bin", "--out", "less", "--quiet")
	must(t, dir, "train", "--recipe", "m", "--data", "left.bin", "--model", "rest", "--quiet")
	if digestOf(t, filepath.Join(dir, "less")) != digestOf(t, filepath.Join(dir, "rest")) {
		t.Error("forgetting rows differs from training without them")
	}
	refuse(t, dir, 3, []string{"the rows are not images"}, "train", "--data", "all.bin", "--format", "cifar10",
		"--scale", "255,hog", "--kernel", "patches", "--model", "none")
	manifest := read(t, dir, "m", "manifest.json")
	for old, damaged := range map[string]string{`"cells": 2`: `"cells": 28`, `"patch": 6`: `"patch": 60000`,
		`"bias": "`: `"bias": "AAAAAAAAAAAAAAAA`} {
		write(t, filepath.Join(dir, "m"), "manifest.json", resealed(t, manifest, old, damaged))
		refuse(t, dir, 6, []string{"patches: "}, "predict", "--model", "m", "--data", "test.bin", "--out", "none")
	}
}

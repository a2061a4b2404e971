package main

import (
	le "encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/safetensors"
)

// about is the manifest of a directory of features, as far as the tests look at it.
type about struct {
	Features int      `json:"features"`
	Classes  []string `json:"classes"`
	Parts    []struct {
		Names []string `json:"names"`
		Rows  int      `json:"rows"`
	} `json:"parts"`
}

func manifestOf(t *testing.T, dir string) (a about) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, dir, "manifest.json")), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// arrays returns the numbers of all files of that place in the parts.
func arrays[T safetensors.Value](t *testing.T, dir string, place int) (all []T) {
	t.Helper()
	for _, part := range manifestOf(t, dir).Parts {
		file := []byte(read(t, dir, part.Names[place]))
		_, shape, found := strings.Cut(string(file[:128]), "'shape': (")
		if shape, _, _ = strings.Cut(shape, ","); !found || shape != strconv.Itoa(part.Rows) {
			t.Errorf("%s has %s rows, the manifest says %d", part.Names[place], shape, part.Rows)
		}
		v := make([]T, (len(file)-128)/le.Size(*new(T)))
		if _, err := le.Decode(file[128:], le.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v...)
	}
	return all
}

func TestFeaturesAreIndependentOfFormatAndCut(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "500", "--out", "train.csv")
	common := []string{"featurize", "--data", "train.csv", "--label", "y", "--features", "64", "--quiet"}
	must(t, dir, append(common, "--out", "whole")...)
	must(t, dir, append(common, "--out", "cut", "--runner", "prism", "--readers", "3", "--shard_bytes", "3000")...)
	must(t, dir, append(common, "--out", "st", "--out_format", "safetensors")...)
	must(t, dir, append(common, "--out", "csv", "--out_format", "csv")...)

	x := arrays[float32](t, filepath.Join(dir, "whole"), 0)
	y := arrays[int32](t, filepath.Join(dir, "whole"), 1)
	if len(x) != 500*64 || len(y) != 500 {
		t.Fatalf("%d features and %d labels of 500 rows", len(x), len(y))
	}
	if a := manifestOf(t, filepath.Join(dir, "cut")); len(a.Parts) < 3 || a.Features != 64 ||
		!slices.Equal(a.Classes, []string{"-1", "1"}) {
		t.Errorf("the manifest says %+v", a)
	}
	if !slices.Equal(arrays[float32](t, filepath.Join(dir, "cut"), 0), x) ||
		!slices.Equal(arrays[int32](t, filepath.Join(dir, "cut"), 1), y) {
		t.Error("features cut into shards differ")
	}
	file := read(t, dir, "st", "part-00000.safetensors")
	f, err := safetensors.Read(strings.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := safetensors.Values[float32](f, "features"); err != nil || !slices.Equal(v, x) {
		t.Errorf("the safetensors file holds other features (%v)", err)
	}
	lines := strings.Split(strings.TrimSpace(read(t, dir, "csv", "part-00000.csv")), "\n")
	if len(lines) != 501 || !strings.HasPrefix(lines[0], "f1,f2,") || !strings.HasSuffix(lines[0], ",f64,label") {
		t.Errorf("%d lines of CSV, the first %.60s", len(lines), lines[0])
	}
	// The label is the last column in the data, too.
	data := strings.Split(strings.TrimSpace(read(t, dir, "train.csv")), "\n")
	for i := 1; i < len(data); i++ {
		want := data[i][strings.LastIndexByte(data[i], ',')+1:]
		if got := lines[i][strings.LastIndexByte(lines[i], ',')+1:]; got != want || y[i-1] != int32(len(want)%2) {
			t.Fatalf("row %d: label %s in CSV and class %d, want %s", i, got, y[i-1], want)
		}
	}
}

func TestFeaturesOfAModelMatchItsTraining(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "300", "--out", "train.csv")
	flags := []string{"--data", "train.csv", "--label", "y", "--features", "32", "--quiet"}
	must(t, dir, append([]string{"train", "--model", "model"}, flags...)...)
	must(t, dir, append([]string{"featurize", "--out", "a"}, flags...)...)
	must(t, dir, "featurize", "--model", "model", "--data", "train.csv", "--out", "b", "--quiet")
	a, b := arrays[float32](t, filepath.Join(dir, "a"), 0), arrays[float32](t, filepath.Join(dir, "b"), 0)
	if !slices.Equal(a, b) || len(a) != 300*32 {
		t.Errorf("%d and %d features, or they differ", len(a), len(b))
	}
}

func TestFeaturizeWritesPackedMaxoutCodes(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "friedman", "--rows", "100", "--out", "train.csv")
	must(t, dir, "featurize", "--data", "train.csv", "--label", "y", "--kernel", "maxout", "--q", "4", "--features", "128",
		"--out", "codes", "--out_format", "codes", "--quiet")
	if v := arrays[uint64](t, filepath.Join(dir, "codes"), 0); len(v) != 100*2*2 {
		t.Errorf("%d words, want 2 bits for each of 128 units of 100 rows", len(v))
	}
	if r := run(t, dir, "featurize", "--data", "train.csv", "--label", "y", "--out", "no", "--out_format",
		"codes"); r.code != 2 {
		t.Errorf("codes of a kernel without: exit code %d, want 2", r.code)
	}
}

func TestKernelErrorsFallWithMoreFeatures(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "friedman", "--rows", "300", "--out", "train.csv")
	must(t, dir, "kernel", "--data", "train.csv", "--label", "y", "--budgets", "64,1024", "--seeds", "4", "--rows", "60",
		"--draw", "all", "--out", "errors", "--quiet")
	var r struct {
		Curves []struct {
			Name   string
			Points []struct {
				RMSE struct{ Mean float64 } `json:"rmse"`
			}
		}
	}
	if err := json.Unmarshal([]byte(read(t, dir, "errors", "errors.json")), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Curves) != 3 {
		t.Fatalf("%d curves, want one for each of 3 draws", len(r.Curves))
	}
	for _, c := range r.Curves {
		if few, many := c.Points[0].RMSE.Mean, c.Points[1].RMSE.Mean; !(many < few/2.5) {
			t.Errorf("%s: the error falls from %g to %g with 16 times the features, want a quarter or less", c.Name, few, many)
		}
	}
	if got := entries(t, filepath.Join(dir, "errors")); !slices.Equal(got,
		[]string{"errors.json", "errors.png", "errors.svg"}) {
		t.Errorf("the directory holds %v", got)
	}
}

func TestEveryKernelTrainsAndPredicts(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "checkerboard", "--rows", "600", "--out", "train.csv")
	write(t, dir, "skeleton.yaml",
		"columns: 3\nspace: {circle: 2}\nlayers:\n  - {full: true, activation: {exponential: 1}}\n")
	for i, flags := range [][]string{
		{"--kernel", "maxout"}, {"--kernel", "maxout", "--q", "3", "--pool", "50"}, {"--kernel", "linear"},
		{"--kernel", "skeleton", "--skeleton", "skeleton.yaml"}, {"--draw", "orthogonal"}, {"--draw", "structured"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			name := strings.NewReplacer("-", "", " ", "_").Replace(strings.Join(flags, " "))
			train := append([]string{"train", "--data", "train.csv", "--label", "y", "--lambda", "1e-5", "--quiet"}, flags...)
			if flags[1] != "linear" { // which has as many as the row has numbers
				train = append(train, "--features", "64")
			}
			must(t, dir, append(train, "--model", name)...)
			ways := [][]string{{"--runner", "prism", "--shard_bytes", "4000", "--readers", "2"},
				{"--shard_bytes", "4000", "--threads", "3"}}
			for k, way := range share(ways, i%2, 2) {
				other := fmt.Sprint(name, "-", k)
				must(t, dir, slices.Concat(train, []string{"--model", other}, way)...)
				if read(t, dir, name, "weights.safetensors") != read(t, dir, other, "weights.safetensors") {
					t.Errorf("%v: other weights", way)
				}
			}
			must(t, dir, "evaluate", "--model", name, "--data", "train.csv", "--quiet")
		})
	}
}

func TestInvalidSkeletonErrorNamesTheNode(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "50", "--out", "train.csv")
	write(t, dir, "bad.yaml",
		"columns: 2\nnodes:\n  - {name: a, space: {circle: 2}, columns: [0]}\n  - {name: top, inputs: [a, top], activation: {relu: true}}\n")
	r := run(t, dir, "train", "--data", "train.csv", "--label", "y", "--kernel", "skeleton", "--skeleton", "bad.yaml",
		"--model", "m")
	if r.code != 2 || !strings.Contains(r.stderr, `"top"`) {
		t.Errorf("exit code %d, %s", r.code, r.stderr)
	}
}

package main

import (
	"bytes"
	"crypto/sha256"
	bits "encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/pipelines/registry"
)

// goldenFile holds the digests of the models below. UPDATE_GOLDEN=1 writes it again, which
// is right only where a change was meant to change what models are.
var goldenFile = source("pipelines/bochner/testdata/digests.txt")

// goldens are commands that make a directory out of generated data, which stands before
// the flags. The digests cover every file of the directory.
var goldens = []struct{ name, data, command string }{
	{"defaults", "moons", "train --search none"},
	{"regression", "friedman", "train --search none"},
	{"one lambda", "friedman", "train --search none --lambda 1e-6"},
	{"several lambdas", "moons", "train --search none --lambda 1e-7,1e-5,1e-3 --folds 3 --seed 7"},
	{"grid 8", "moons", "train --search none --grid 8"},
	{"grid 16", "friedman", "train --search none --grid 16 --lambda 1e-9,1e-6"},
	{"offset form", "moons", "train --search none --form offset --lambda 1e-6"},
	{"orthogonal", "friedman", "train --search none --draw orthogonal --lambda 1e-6"},
	{"structured", "friedman", "train --search none --draw structured --lambda 1e-6 --width 3"},
	{"gamma", "moons", "train --search none --gamma 2 --lambda 1e-6"},
	{"width scale", "friedman", "train --search none --width scale --scale minmax --lambda 1e-6"},
	{"laplace", "moons", "train --search none --kernel laplace --lambda 1e-6"},
	{"cauchy", "moons", "train --search none --kernel cauchy --lambda 1e-6"},
	{"matern", "friedman", "train --search none --kernel matern --nu 2.5 --lambda 1e-6"},
	{"exponential", "friedman", "train --search none --kernel exponential --exponent 1.4 --lambda 1e-6"},
	{"maxout", "moons", "train --search none --kernel maxout --q 3 --lambda 1e-6"},
	{"maxout pool", "friedman", "train --search none --kernel maxout --pool 40 --lambda 1e-5"},
	{"linear", "friedman", "train --search none --kernel linear"},
	{"skeleton", "images", "train --search none --kernel skeleton --skeleton skeleton.yaml --lambda 1e-5"},
	{"hybrid skeleton", "images", "train --search none --kernel skeleton --skeleton skeleton.yaml --hybrid --lambda 1e-5"},
	{"image steps", "images", "train --search none --scale 255,crop:10,hog --lambda 1e-5"},
	{"libsvm", "libsvm", "train --search none --width 1 --lambda 1e-5"},
	{"platt", "moons", "train --search none --calibrate platt --lambda 1e-5"},
	{"isotonic", "images", "train --search none --calibrate isotonic --lambda 1e-4"},
	{"svm", "moons", "train --search none --learner svm --lambda 1e-3 --rounds 5"},
	{"svm regression", "friedman", "train --search none --learner svm --lambda 1e-3 --rounds 5 --partitions 3"},
	{"sgd", "moons", "train --search none --learner sgd --lambda 1e-4 --rounds 4"},
	{"sgd augmented", "images",
		"train --search none --learner sgd --scale crop:10,255 --augment crop,flip --lambda 1e-3 --rounds 3 --rate 0.5"},
	{"adagrad huber", "friedman",
		"train --search none --learner sgd --method adagrad --loss huber --lambda 1e-4 --rounds 3"},
	{"learned", "windmill",
		"train --search none --kernel learned --chains 12 --steps 4 --take 3 --lambda 1e-4 --learner ridge"},
	{"harmonic", "checkerboard",
		"train --search none --kernel harmonic --harmonics 60 --scale none --chains 12 --steps 3 --take 3 --lambda 1e-4"},
	{"embedding", "friedman", "embed --components 3"},
	{"lkrf", "windmill", "align --kernel learned --align lkrf"},
	{"searched", "moons", "train --search auto"},
	{"searched, regression", "friedman", "train --search auto --lambda 1e-6"},
}

// Models equal recorded digests: the same data, flags and seed give the same bytes on every processor, and
// after changes of the code.
func TestModelsMatchTheRecord(t *testing.T) {
	dir := t.TempDir()
	for _, set := range []string{"moons", "friedman", "windmill", "checkerboard"} {
		must(t, dir, "generate", set, "--rows", "500", "--out", set+".csv")
	}
	writeGoldenImages(t, dir)
	var got strings.Builder
	for i, g := range goldens {
		command := strings.Fields(g.command)
		out := fmt.Sprint("out", i)
		var flags []string
		switch g.data {
		case "images":
			flags = []string{"--data", "images.idx", "--label_files", "labels.idx"}
		case "libsvm":
			flags = []string{"--data", "libsvm.txt"}
		default:
			flags = []string{"--data", g.data + ".csv", "--label", "y"}
		}
		switch {
		case command[0] == "embed" || command[0] == "train":
			flags = append(flags, "--model", out)
		default:
			flags = append(flags, "--out", out)
		}
		if !strings.Contains(g.command, "linear") {
			flags = append(flags, "--features", "64")
		}
		must(t, dir, append(append(command, flags...), "--quiet")...)
		fmt.Fprintf(&got, "%s  %s\n", digestOf(t, filepath.Join(dir, out)), g.name)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(goldenFile, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	record := strings.Split(string(want), "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(record) || line != record[i] {
			t.Errorf("%q is not on record", line)
		}
	}
}

// digestOf is the digest of the names and contents of all files of a directory, except the lineage,
// which is about the files of the data and not about the model.
func digestOf(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || name == registry.LineageFile || name == "report.html" {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		fmt.Fprintf(h, "%s %d\n", name, len(data))
		h.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// writeGoldenImages writes 300 images of 12 × 12 pixels in three classes, as IDX files and
// as LIBSVM text of every seventh pixel, and a skeleton for them.
func writeGoldenImages(t *testing.T, dir string) {
	t.Helper()
	const n, side = 300, 12
	var images, labels bytes.Buffer
	header := func(w *bytes.Buffer, numbers ...uint32) {
		for _, v := range numbers {
			w.Write(bits.BigEndian.AppendUint32(nil, v))
		}
	}
	header(&images, 0x803, n, side, side)
	header(&labels, 0x801, n)
	var text strings.Builder
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		class := r.IntN(3)
		labels.WriteByte(byte(class))
		fmt.Fprint(&text, class)
		for p := range side * side {
			v := byte(r.IntN(100))
			if p/side/4 == class {
				v += 120
			}
			images.WriteByte(v)
			if p%7 == 0 {
				fmt.Fprintf(&text, " %d:%.3f", p/7+1, float64(v)/255)
			}
		}
		text.WriteByte('\n')
	}
	write(t, dir, "images.idx", images.String())
	write(t, dir, "labels.idx", labels.String())
	write(t, dir, "libsvm.txt", text.String())
	write(t, dir, "skeleton.yaml",
		"image: {height: 12, width: 12, channels: 1}\nspace: {circle: 2}\nlayers:\n  - {conv: 3, stride: 2, activation: {exponential: 1}}\n  - {full: true, activation: {relu: true}}\n")
}

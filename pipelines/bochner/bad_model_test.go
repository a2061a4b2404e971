package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/safetensors"
	"github.com/bochner-ml/bochner/models"
)

// resealed returns a manifest with text replaced and the checksum, its last line
// but one, made to fit again.
func resealed(t *testing.T, manifest, old, new string) string {
	t.Helper()
	if strings.Count(manifest, old) != 1 {
		t.Fatalf("%q is not in the manifest once", old)
	}
	manifest = strings.Replace(manifest, old, new, 1)
	body, _, found := strings.Cut(manifest, `  "sha256": "`+manifest[len(manifest)-len("\"\n}\n")-64:][:64])
	if !found {
		t.Fatal("no checksum at the end of the manifest")
	}
	sum := sha256.Sum256([]byte(body))
	return body + `  "sha256": "` + hex.EncodeToString(sum[:]) + "\"\n}\n"
}

// withWeights puts other weights into a model directory, and into its manifest
// what is true of them.
func withWeights(t *testing.T, dir string, tensors ...safetensors.Tensor) {
	t.Helper()
	var data bytes.Buffer
	if err := safetensors.Write(&data, nil, tensors); err != nil {
		t.Fatal(err)
	}
	m, err := models.CheckDir(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Files = []models.FileEntry{models.NewFileEntry(models.WeightsFile, data.Bytes())}
	manifest, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, models.ManifestFile, string(manifest))
	write(t, dir, models.WeightsFile, data.String())
}

func TestDamagedModelsAreRejected(t *testing.T) {
	original := trained(t)
	manifest, weights := read(t, original, "model", models.ManifestFile), read(t, original, "model", models.WeightsFile)
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	put := func(name, content string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { write(t, dir, name, content) }
	}
	seal := func(old, new string) func(*testing.T, string) {
		return put(models.ManifestFile, resealed(t, manifest, old, new))
	}
	numbers := make([]float32, 64)
	const checksum = "its checksum does not match; copy the model again"
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir string)
		want  []string
		job   string // the only one at fault; "" for all
	}{
		"a bit of the weights": {put(models.WeightsFile, flipped(weights, -20)),
			[]string{"weights.safetensors is damaged: " + checksum}, ""},
		"a bit of the header": {put(models.WeightsFile, flipped(weights, 3)),
			[]string{"weights.safetensors is damaged: " + checksum}, ""},
		"a bit of the manifest": {put(models.ManifestFile, flipped(manifest, strings.Index(manifest, "fourier"))),
			[]string{"manifest.json is damaged or was edited: " + checksum}, ""},
		"a bit of the checksum": {put(models.ManifestFile, flipped(manifest, strings.LastIndexAny(manifest, "013456789abcdef"))), // a 2 would be a quote
			[]string{"manifest.json is damaged or was edited: " + checksum}, ""},
		"weights cut": {put(models.WeightsFile, weights[:len(weights)-7]),
			[]string{"weights.safetensors has 393 bytes, the manifest says 400; copy the model again"}, ""},
		"sketch cut": {put(models.SketchFile, "x"), []string{"sketch.safetensors has 1 bytes, the manifest says"}, ""},
		"weights empty": {put(models.WeightsFile, ""),
			[]string{"weights.safetensors has 0 bytes, the manifest says 400; copy the model again"}, ""},
		"weights longer": {put(models.WeightsFile, weights+"x"),
			[]string{"weights.safetensors: has 401 bytes; the limit is 400"}, ""},
		"manifest cut": {put(models.ManifestFile, manifest[:500]),
			[]string{"manifest.json is damaged (unexpected end of JSON input); copy the model again"}, ""},
		"manifest empty": {put(models.ManifestFile, ""),
			[]string{"manifest.json is damaged (unexpected end of JSON input); copy the model again"}, ""},
		"manifest of text": {put(models.ManifestFile, "see weights"),
			[]string{"manifest.json is damaged (invalid character", "copy the model again"}, ""},
		"no manifest": {remove(models.ManifestFile),
			[]string{"manifest.json is missing; is this the directory of a model?"}, ""},
		"no weights": {remove(models.WeightsFile),
			[]string{"weights.safetensors is missing; copy the model again"}, ""},
		"no directory": {remove(""), []string{"the directory does not exist"}, ""},
		"a newer version": {seal(`"format": 1,`, `"format": 5,`),
			[]string{"format version 5, this program reads 1; upgrade bochner"}, ""},
		"another shape": {func(t *testing.T, dir string) {
			withWeights(t, dir, safetensors.NewTensor("weights", numbers, 32, 2),
				safetensors.NewTensor("intercept", numbers[:2], 2))
		}, []string{`weights.safetensors: tensor "weights" has the shape [32 2], want [2 32]`}, ""},
		"another tensor": {func(t *testing.T, dir string) {
			withWeights(t, dir, safetensors.NewTensor("weights", numbers, 2, 32),
				safetensors.NewTensor("bias", numbers[:2], 2))
		}, []string{"weights.safetensors: ", `no tensor "intercept"`}, ""},
		"another type": {func(t *testing.T, dir string) {
			withWeights(t, dir, safetensors.NewTensor("weights", make([]int32, 64), 2, 32),
				safetensors.NewTensor("intercept", numbers[:2], 2))
		}, []string{"weights.safetensors: ", "I32"}, ""},
		"weights that are NaN": {func(t *testing.T, dir string) {
			withWeights(t, dir, safetensors.NewTensor("weights", append([]float32{nan}, numbers[1:]...), 2, 32),
				safetensors.NewTensor("intercept", numbers[:2], 2))
		}, []string{`weights.safetensors: tensor "weights": number 0 is NaN`}, ""},
		"an unknown recipe": {seal(`"kind": "fourier.gaussian"`, `"kind": "fourier.gauss"`),
			[]string{`unknown kind of recipe "fourier.gauss"`}, ""},
		"more features": {seal(`"out": 32`, `"out": 34`),
			[]string{"manifest.json: the recipe makes 34 features of 2 numbers, the model has 32 of 2"}, ""},
		"rows that do not add up": {seal(`"used": 60`, `"used": 59`),
			[]string{"60 rows read, 59 used, 0 set aside: the numbers do not add up"}, ""},
		"no class":              {seal(`"a",`, ``), []string{"1 classes for 2 outputs"}, ""},
		"columns that are none": {seal(`"label": 2`, `"label": 9`), []string{"label"}, "predict"},
		"a format that is none": {seal(`"format": "csv",`+"\n"+`      "dim"`, `"format": "xls",`+"\n"+`      "dim"`),
			[]string{"xls"}, "predict"},
		"a manifest of other data": {put(models.ManifestFile, strings.Repeat("[", 100_000)),
			[]string{"manifest.json is damaged (", "copy the model again"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "table.csv", replaced(quadrants(60), nil))
			if err := os.CopyFS(filepath.Join(dir, "model"), os.DirFS(filepath.Join(original, "model"))); err != nil {
				t.Fatal(err)
			}
			c.spoil(t, filepath.Join(dir, "model"))
			want := append(c.want, "bochner: model")
			refuse(t, dir, 6, want, "predict", "--model", "model", "--data", "table.csv", "--out", "predictions")
			refuse(t, dir, 6, want, "evaluate", "--model", "model", "--data", "table.csv")
			if long() || len(name)%3 == 0 {
				refuse(t, dir, 6, want, "evaluate", "--model", "model", "--data", "table.csv", "--runner", "prism")
			}
			if c.job == "" {
				refuse(t, dir, 6, want, "inspect", "--model", "model")
			}
		})
	}
}

func TestOtherFilesAreRejectedAsModels(t *testing.T) {
	dir := trained(t)
	if err := os.MkdirAll(filepath.Join(dir, "inner", models.ManifestFile), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	must(t, dir, "predict", "--model", "model", "--data", "table.csv", "--out", "predictions")
	for name, want := range map[string]string{
		"none":                "the directory does not exist",
		"empty":               "manifest.json is missing; is this the directory of a model?",
		"table.csv":           "is a file, not the directory of a model",
		"model/manifest.json": "is a file, not the directory of a model",
		"inner":               "manifest.json is a directory; is this the directory of a model?",
		"predictions":         "manifest.json",
	} {
		t.Run(name, func(t *testing.T) {
			words := []string{"bochner: " + name + ": ", want}
			refuse(t, dir, 6, words, "predict", "--model", name, "--data", "table.csv", "--out", "new")
			refuse(t, dir, 6, words, "evaluate", "--model", name, "--data", "table.csv")
			refuse(t, dir, 6, words, "inspect", "--model", name)
		})
	}
}

package models

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/safetensors"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/linear"
)

func save(t *testing.T, m *Model) (dir string) {
	t.Helper()
	files, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "model")
	if err := storage.Publish(context.Background(), dir, files); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestSaveLoadRoundTrips(t *testing.T) {
	for _, m := range []*Model{classifier(t), regressor(t)} {
		dir := save(t, m)
		if err := os.WriteFile(filepath.Join(dir, "report.html"), []byte("of a later version"), 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := LoadURI(context.Background(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Linear.W, m.Linear.W) || !slices.Equal(got.Linear.B, m.Linear.B) || got.Linear.K != m.Linear.K ||
			got.Linear.D != m.Linear.D {
			t.Errorf("%s: other weights", m.Manifest.Task)
		}
		want, _ := encode(t, m)
		again, err := got.Manifest.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, want) {
			t.Errorf("%s: the manifest comes back as\n%s\nwas\n%s", m.Manifest.Task, again, want)
		}
		if got.Manifest.Seed != math.MaxUint64 || got.Manifest.SHA256 != m.Manifest.SHA256 {
			t.Errorf("%s: seed %d, checksum %s", m.Manifest.Task, got.Manifest.Seed, got.Manifest.SHA256)
		}
		x, phi := []float32{0.3, 9, -1.2, 9}, make([]float32, 10)
		got.Map.Apply(phi, x, 2)
		a, b := make([]float32, 2*m.Linear.K), make([]float32, 2*m.Linear.K)
		got.Linear.Scores(a, phi, 2)
		m.Map.Apply(phi, x, 2)
		m.Linear.Scores(b, phi, 2)
		if !slices.Equal(a, b) {
			t.Errorf("%s: scores %v, before %v", m.Manifest.Task, a, b)
		}
		checked, err := CheckDir(context.Background(), dir)
		if err != nil || checked.SHA256 != m.Manifest.SHA256 {
			t.Errorf("%s: checked: %v", m.Manifest.Task, err)
		}
	}
}

func TestEqualModelsHaveEqualFiles(t *testing.T) {
	m1, w1 := encode(t, classifier(t))
	m2, w2 := encode(t, classifier(t))
	if !bytes.Equal(m1, m2) || !bytes.Equal(w1, w2) {
		t.Error("the same model gives other bytes")
	}
	other := classifier(t)
	other.Linear.W[7] += 1
	m3, w3 := encode(t, other)
	if bytes.Equal(m1, m3) || bytes.Equal(w1, w3) {
		t.Error("another model gives the same bytes")
	}
}

// The seed is text in JSON, because readers that hold numbers in float64 would change a number.
func TestSeedIsTextInJSON(t *testing.T) {
	if manifest, _ := encode(t, classifier(t)); !bytes.Contains(manifest, []byte(`"seed": "18446744073709551615"`)) {
		t.Errorf("%s", manifest)
	}
}

func TestChecksumCoversAllButTheLastTwoLines(t *testing.T) {
	m := classifier(t)
	data, _ := encode(t, m)
	lines := bytes.SplitAfter(data, []byte("\n"))
	n := len(lines) - 3 // after the last newline there is an empty piece
	if got := hexDigest(bytes.Join(lines[:n], nil)); got != m.Manifest.SHA256 || !strings.Contains(string(lines[n]), got) {
		t.Errorf("the sum of the lines is %s, the manifest says %s in %q", got, m.Manifest.SHA256, lines[n])
	}
}

func TestChecksumReplacesTheLastField(t *testing.T) {
	type last struct {
		A      string `json:"a"`
		SHA256 string `json:"sha256"`
	}
	first, sum, err := EncodeWithChecksum(last{A: "\n  \"sha256\": \""})
	if err != nil || !HasChecksum(first) {
		t.Fatalf("%q: %v", first, err)
	}
	if again, same, err := EncodeWithChecksum(last{A: "\n  \"sha256\": \"", SHA256: sum}); err != nil || same != sum ||
		!bytes.Equal(again, first) {
		t.Errorf("encoded again: %q %s, %v", again, same, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a checksum that is not the last field does not panic")
		}
	}()
	EncodeWithChecksum(struct {
		SHA256 string `json:"sha256"`
		A      int    `json:"a"`
	}{})
}

func TestEveryFlippedBitIsNoticed(t *testing.T) {
	manifest, weights := encode(t, classifier(t))
	if _, _, err := decode(manifest, weights); err != nil {
		t.Fatal(err)
	}
	for _, file := range [][]byte{manifest, weights} {
		for i := range file {
			for bit := range 8 {
				file[i] ^= 1 << bit
				if _, _, err := decode(manifest, weights); err == nil {
					t.Fatalf("bit %d of byte %d is not missed: %q", bit, i, file[max(0, i-20):min(len(file), i+20)])
				}
				file[i] ^= 1 << bit
			}
		}
	}
}

func TestEveryTruncationIsNoticed(t *testing.T) {
	manifest, weights := encode(t, regressor(t))
	for n := range manifest {
		if _, _, err := decode(manifest[:n], weights); err == nil {
			t.Fatalf("a manifest of %d of %d bytes is read", n, len(manifest))
		}
	}
	for n := range weights {
		if _, _, err := decode(manifest, weights[:n]); err == nil {
			t.Fatalf("weights of %d of %d bytes are read", n, len(weights))
		}
	}
}

// refusal saves the files and returns Load's error, which must be an ErrBadModel.
func refusal(t *testing.T, files ...storage.File) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "m")
	if err := storage.Publish(context.Background(), dir, files); err != nil {
		t.Fatal(err)
	}
	_, err := LoadURI(context.Background(), dir)
	if !errors.Is(err, ErrBadModel) {
		t.Fatalf("%v is no ErrBadModel", err)
	}
	return strings.ReplaceAll(err.Error(), dir, "DIR")
}

func TestLoadErrorsAreOneSentence(t *testing.T) {
	manifest, weights := encode(t, classifier(t))
	file := func(name string, data []byte) storage.File { return storage.File{Name: name, Data: data} }
	edit := func(old, new string) []byte {
		if !bytes.Contains(manifest, []byte(old)) {
			t.Fatalf("no %q in the manifest", old)
		}
		return bytes.Replace(manifest, []byte(old), []byte(new), 1)
	}
	tests := []struct {
		name string
		got  string
		want string
	}{
		{"newer version", refusal(t, file(ManifestFile, seal(edit(`"format": 1`, `"format": 5`)))),
			"models: DIR: format version 5, this program reads 1; upgrade bochner"},
		{"no version", refusal(t, file(ManifestFile, seal(edit(`"format": 1`, `"format": 0`)))),
			"models: DIR: manifest.json: format version 0, want 1"},
		{"no manifest", refusal(t, file(WeightsFile, weights)),
			"models: DIR: manifest.json is missing; is this the directory of a model?"},
		{"no weights", refusal(t, file(ManifestFile, manifest)),
			"models: DIR: weights.safetensors is missing; copy the model again"},
		{"edited", refusal(t, file(ManifestFile, edit("bee", "fly"))),
			"models: DIR: manifest.json is damaged or was edited: its checksum does not match; copy the model again"},
		{"other weights", refusal(t, file(ManifestFile, manifest),
			file(WeightsFile, append(bytes.Clone(weights[:len(weights)-1]), 1))),
			"models: DIR: weights.safetensors is damaged: its checksum does not match; copy the model again"},
		{"short weights", refusal(t, file(ManifestFile, manifest), file(WeightsFile, weights[:40])),
			fmt.Sprintf("models: DIR: weights.safetensors has 40 bytes, the manifest says %d; copy the model again",
				len(weights))},
		{"unknown recipe", refusal(t, file(ManifestFile, seal(edit("test.waves", "test.wives")))),
			`models: DIR: manifest.json: features: unknown kind of recipe "test.wives"; have ` + strings.Join(features.Kinds(),
				", ")},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, test.got, test.want)
		}
	}
	if got := refusal(t, file(ManifestFile, []byte("{"))); !strings.HasPrefix(got,
		"models: DIR: manifest.json is damaged (") {
		t.Error(got)
	}
	long := append(manifest, bytes.Repeat([]byte(" "), MaxManifest)...)
	if got := refusal(t, file(ManifestFile, long)); !strings.Contains(got, fmt.Sprintf("has %d bytes", len(long))) {
		t.Error(got)
	}
}

func TestWeightsMustFitTheManifest(t *testing.T) {
	m := classifier(t)
	w, b := m.Linear.W, m.Linear.B
	nan := slices.Clone(w)
	nan[3] = float32(math.NaN())
	for want, tensors := range map[string][]safetensors.Tensor{
		`tensor "weights" has the shape [5 3], want [3 5]`: {safetensors.NewTensor("weights", w, 5, 3),
			safetensors.NewTensor("intercept", b, 3)},
		`tensor "weights": number 3 is NaN`: {safetensors.NewTensor("weights", nan, 3, 5),
			safetensors.NewTensor("intercept", b, 3)},
		`no tensor "intercept"`: {safetensors.NewTensor("weights", w, 3, 5),
			safetensors.NewTensor("bias", b, 3)},
		`numbers are I32, not F32`: {safetensors.NewTensor("weights", w, 3, 5),
			safetensors.NewTensor("intercept", []int32{1, 2, 3}, 3)},
	} {
		var data bytes.Buffer
		if err := safetensors.Write(&data, nil, tensors); err != nil {
			t.Fatal(err)
		}
		m.Manifest.Files = []FileEntry{NewFileEntry(WeightsFile, data.Bytes())}
		manifest, err := m.Manifest.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got := refusal(t, storage.File{Name: ManifestFile, Data: manifest},
			storage.File{Name: WeightsFile, Data: data.Bytes()})
		if !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

func TestStorageFaultIsNotABadModel(t *testing.T) {
	var storageErr *storage.Error
	_, err := LoadURI(context.Background(), strings.Repeat("x", 1000)) // a name too long for a file system
	if errors.Is(err, ErrBadModel) || !errors.As(err, &storageErr) {
		t.Errorf("%v", err)
	}
}

func TestOtherDirectoriesAreBadModels(t *testing.T) {
	dir := t.TempDir()
	inPlace := filepath.Join(dir, "in place")
	if err := os.MkdirAll(filepath.Join(inPlace, ManifestFile), 0o777); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		inPlace:                    "manifest.json is a directory; is this the directory of a model?",
		file:                       "is a file, not the directory of a model",
		filepath.Join(dir, "none"): "the directory does not exist",
	} {
		for which, load := range map[string]func() error{
			"Load":  func() error { _, err := LoadURI(context.Background(), name); return err },
			"Check": func() error { _, err := CheckDir(context.Background(), name); return err },
		} {
			if err := load(); !errors.Is(err, ErrBadModel) || err.Error() != "models: "+name+": "+want {
				t.Errorf("%s: %v, want %q", which, err, want)
			}
		}
	}
}

func TestManifestsThatContradictThemselvesAreNotWritten(t *testing.T) {
	for want, spoil := range map[string]func(*Model){
		"classification without a vocabulary": func(m *Model) { m.Manifest.Vocabulary = nil },
		"3 classes for 2 outputs": func(m *Model) {
			m.Linear = &linear.Model{K: 2, D: 5,
				W: make([]float32, 10), B: make([]float32, 2)}
		},
		"classification with a target grid": func(m *Model) { m.Manifest.TargetGrid = linear.Grids{{High: 1}} },
		"regression without a target grid": func(m *Model) {
			m.Manifest.Task,
				m.Manifest.Vocabulary = Regression, nil
		},
		`unknown task "clustering"`:            func(m *Model) { m.Manifest.Task = "clustering" },
		"1 names of columns for rows of 2":     func(m *Model) { m.Manifest.Input.Columns = []string{"a"} },
		"is not UTF-8":                         func(m *Model) { m.Manifest.Input.Label = "\xff" },
		"120 rows read, 117 used, 2 set aside": func(m *Model) { m.Manifest.Rows.Used-- },
		"makes 5 features of 2 numbers, the model has 5": func(m *Model) {
			m.Manifest.Input.Dim,
				m.Manifest.Input.Columns = 3, nil
		},
		"makes 5 features of 2 numbers, the model has 4": func(m *Model) {
			m.Linear = &linear.Model{K: 3, D: 4,
				W: make([]float32, 12), B: make([]float32, 3)}
		},
		"counts for 2 classes":   func(m *Model) { m.Manifest.Profile.ClassCounts = []int64{1, 2} },
		"unsupported value: NaN": func(m *Model) { m.Manifest.Scores["auc"] = math.NaN() },
	} {
		m := classifier(t)
		spoil(m)
		if _, err := Encode(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestScoresGiveTargets(t *testing.T) {
	m := regressor(t)
	targets := make([]float64, 6)
	m.Targets(targets, []float32{-1, 0, 0.5, 1, 1.25, 0x1p-20})
	if !slices.Equal(targets, []float64{1e6, 1e6 + 4, 1e6 + 6, 1e6 + 8, 1e6 + 9, 1e6 + 4 + 0x1p-18}) {
		t.Errorf("targets %v", targets)
	}
	classifier(t).Targets(targets[:2], []float32{-1, 1})
	if !slices.Equal(targets[:2], []float64{-1, 1}) {
		t.Errorf("scores of classes became %v", targets[:2])
	}
}

func TestOutputsHaveNames(t *testing.T) {
	c, r := classifier(t), regressor(t)
	if got := c.Outputs(); !slices.Equal(got, []string{"ant", "bee", "cow"}) || !c.Classifies() || c.NumericClasses() {
		t.Errorf("classes %v", got)
	}
	if got := r.Outputs(); !slices.Equal(got, []string{"kind"}) || r.Classifies() {
		t.Errorf("target %v", got)
	}
	r.Manifest.Input.Label, r.Manifest.Outputs = "", 2
	if got := r.Outputs(); !slices.Equal(got, []string{"target_1", "target_2"}) {
		t.Errorf("targets %v", got)
	}
}

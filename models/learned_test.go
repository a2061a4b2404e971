package models

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/storage"
)

// learnedModel is classifier on 6 features of learned frequencies.
func learnedModel(t *testing.T) (m *Model, frequencies []byte) {
	t.Helper()
	frequencies, err := learned.Encode(&learned.Frequencies{Count: 3, In: 2, W: []float32{0.5, -1, 2, 0.25, 0, 3}})
	if err != nil {
		t.Fatal(err)
	}
	recipe := learned.Recipe{In: 2, Count: 3, Form: fourier.Paired, Seed: 1,
		SHA256: NewFileEntry(learned.FileName, frequencies).SHA256}
	m = classifier(t)
	if m.Manifest.Recipe, err = features.Seal(recipe); err != nil {
		t.Fatal(err)
	}
	m.Linear.D, m.Linear.W = 6, make([]float32, 18)
	m.ExtraFiles = []storage.File{{Name: learned.FileName, Data: frequencies}}
	return m, frequencies
}

func TestLearnedFrequenciesAreReadWithTheModel(t *testing.T) {
	m, frequencies := learnedModel(t)
	dir := save(t, m)
	got, err := LoadURI(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	phi := make([]float32, 6)
	if got.Map.Apply(phi, []float32{0, 0}, 1); phi[0] == 0 || phi[3] != 0 {
		t.Errorf("features %v of a row of zeros, want cosines of 0 and sines of 0", phi)
	}

	name := filepath.Join(dir, learned.FileName)
	flipped := slices.Clone(frequencies)
	flipped[len(flipped)-1] ^= 1
	for what, test := range map[string]struct {
		data []byte
		want string
	}{
		"flipped bit": {flipped, "frequencies.safetensors is damaged: its checksum does not match"},
		"cut":         {frequencies[:len(frequencies)-1], "the manifest says"},
		"longer":      {append(slices.Clone(frequencies), 0), "has 105 bytes"},
		"missing":     {nil, "frequencies.safetensors is missing; copy the model again"},
	} {
		os.Remove(name)
		if test.data != nil {
			if err := os.WriteFile(name, test.data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		_, loaded := LoadURI(t.Context(), dir)
		_, checked := CheckDir(t.Context(), dir)
		for _, err := range []error{loaded, checked} {
			if !errors.Is(err, ErrBadModel) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %q", what, err, test.want)
			}
		}
	}
}

// A full metric is read with the model, like frequencies.
func TestMetricsAreReadWithTheModel(t *testing.T) {
	data, err := preprocess.EncodeMetric(&preprocess.MetricMatrix{Dim: 2, A: []float32{0, 1, 2, 0}})
	if err != nil {
		t.Fatal(err)
	}
	full, err := preprocess.MetricOf(data)
	if err != nil {
		t.Fatal(err)
	}
	m := classifier(t)
	base := fourier.Gaussian{In: 2, Out: 6, Width: 1, Seed: 1}
	if m.Manifest.Recipe, err = features.Seal(features.Chain{Steps: []features.Recipe{full, base}}); err != nil {
		t.Fatal(err)
	}
	m.Linear.D, m.Linear.W = 6, make([]float32, 18)
	m.ExtraFiles = []storage.File{{Name: preprocess.MetricFile, Data: data}}
	dir := save(t, m)
	got, err := LoadURI(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := base.New()
	if err != nil {
		t.Fatal(err)
	}
	have, want := make([]float32, 6), make([]float32, 6)
	got.Map.Apply(have, []float32{0.5, 3}, 1)
	if plain.Apply(want, []float32{3, 1}, 1); !slices.Equal(have, want) {
		t.Errorf("features %v, want %v", have, want)
	}
	os.Remove(filepath.Join(dir, preprocess.MetricFile))
	if _, err := LoadURI(t.Context(), dir); !errors.Is(err, ErrBadModel) ||
		!strings.Contains(err.Error(), "metric.safetensors is missing") {
		t.Errorf("without the file: %v", err)
	}
}

package models

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/safetensors"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/linear"
)

// Model is a model ready for use. It is safe for concurrent use and must not be changed.
type Model struct {
	Manifest *Manifest
	Linear   *linear.Model
	Map      features.Map // takes rows of Manifest.Input.Dim numbers

	// ExtraFiles holds further files of the directory, which Encode writes. Load leaves it nil.
	ExtraFiles []storage.File

	names   []string       // names of the columns that PredictNamed takes
	columns map[string]int // index of each name
	table   *schema.Table  // types of the columns; nil if all are plain numbers
	centre  []float64      // subtracted from each row; nil if there is none
	fill    []float32      // replaces NaN; nil if the recipe does so, or rows must be complete
	scratch sync.Pool      // of *scratch
	explain explain
}

// Classifies reports whether the model predicts classes.
func (m *Model) Classifies() bool { return m.Manifest.Task == Classification }

// NumericClasses reports whether the classes are numbers.
func (m *Model) NumericClasses() bool {
	return m.Manifest.Vocabulary != nil && m.Manifest.Vocabulary.Numeric
}

// Embeds reports whether the model predicts coordinates.
func (m *Model) Embeds() bool { return m.Manifest.Task == Embedding }

// Outputs returns the names of the outputs: the classes; the names of the label columns; or else "target",
// for an embedding "component", followed by a number if there are several.
func (m *Model) Outputs() []string {
	if m.Classifies() {
		return slices.Clone(m.Manifest.Vocabulary.Classes)
	}
	if names := m.Manifest.Input.Labels; len(names) > 0 {
		return slices.Clone(names)
	}
	name := m.Manifest.Input.Label
	switch {
	case m.Embeds():
		name = "component"
	case name == "":
		name = "target"
	}
	names := make([]string, m.Manifest.Outputs)
	for i := range names {
		names[i] = name
		if len(names) > 1 {
			names[i] = fmt.Sprintf("%s_%d", name, i+1)
		}
	}
	return names
}

// asTheyAre is a grid that leaves scores unchanged.
var asTheyAre = linear.Grids{{Low: -1, High: 1}}

// Targets stores in dst the scores of a regression in the units of the training data. For other models it
// copies the scores. float64 is needed for targets far from zero.
func (m *Model) Targets(dst []float64, scores []float32) {
	grids := asTheyAre
	if m.Manifest.Task == Regression {
		grids = m.Manifest.TargetGrid
	}
	grids.Unscaled(dst, scores)
}

// Resolution returns the smallest difference of an output's targets that float32 scores can represent:
// about 2⁻²⁴ of half their range.
func (m *Model) Resolution(output int) float64 {
	if m.Manifest.Task != Regression {
		return 0x1p-24
	}
	return m.Manifest.TargetGrid[output].Half() * 0x1p-24
}

// WriteWeights writes the content of weights.safetensors: the tensors "weights",
// [K, D], and "intercept", [K], both F32. Equal models give equal bytes.
func WriteWeights(w io.Writer, l *linear.Model) error {
	return safetensors.Write(w, nil, []safetensors.Tensor{
		safetensors.NewTensor("weights", l.W, l.K, l.D),
		safetensors.NewTensor("intercept", l.B, l.K),
	})
}

// Encode returns the files of the model's directory, the manifest last. It sets the manifest's fields about
// the other files and its checksum. It does not use Map.
func Encode(m *Model) ([]storage.File, error) {
	var weights bytes.Buffer
	if err := WriteWeights(&weights, m.Linear); err != nil {
		return nil, err
	}
	m.Manifest.Features, m.Manifest.Outputs = m.Linear.D, m.Linear.K
	m.Manifest.Files = []FileEntry{NewFileEntry(WeightsFile, weights.Bytes())}
	files := []storage.File{{Name: WeightsFile, Data: weights.Bytes()}}
	if s := m.Manifest.Segments; s != nil {
		f, err := s.file()
		if err != nil {
			return nil, err
		}
		files, m.Manifest.Files = append(files, f), append(m.Manifest.Files, NewFileEntry(f.Name, f.Data))
	}
	if s := m.Manifest.Sketch; s != nil {
		f, err := s.file()
		if err != nil {
			return nil, err
		}
		files, m.Manifest.Files = append(files, f), append(m.Manifest.Files, NewFileEntry(f.Name, f.Data))
	}
	for _, f := range m.ExtraFiles {
		m.Manifest.Files = append(m.Manifest.Files, NewFileEntry(f.Name, f.Data))
	}
	manifest, err := m.Manifest.Encode()
	if err != nil {
		return nil, err
	}
	files = append(files, m.ExtraFiles...)
	return append(files, storage.File{Name: ManifestFile, Data: manifest}), nil
}

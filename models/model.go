// Package models holds what training makes and prediction needs: the fitted
// linear model, the manifest that tells where it comes from, and the directory
// the two are kept in. The learners are in the packages below it.
//
// A model directory holds manifest.json and weights.safetensors. The frequencies
// of the map are not in it: they are drawn again from the recipe. Only those that
// were learned are data, and lie in frequencies.safetensors.
package models

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"syscall"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/io/safetensors"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/linear"
)

// ErrBadModel is what errors.Is finds in the error of a directory that was read
// and holds no model that this program can use.
var ErrBadModel = errors.New("models: not a usable model")

// badModel is an ErrBadModel with its reason.
type badModel struct {
	dir string
	err error
}

func (e *badModel) Error() string        { return "models: " + e.dir + ": " + e.err.Error() }
func (e *badModel) Unwrap() error        { return e.err }
func (e *badModel) Is(target error) bool { return target == ErrBadModel }

// Bad returns an ErrBadModel of a directory with its reason.
func Bad(dir string, reason error) error { return &badModel{dir, reason} }

// Linear is the fitted linear model.
type Linear = linear.Model

// Model is a model ready for use. It is safe for concurrent use and must not be
// changed.
type Model struct {
	Manifest *Manifest
	Linear   *Linear
	Map      features.Map // Input.Dim numbers to Features features

	// Kept are further files of the directory: Encode writes them. Of these Load reads
	// learned.FileName and nothing else.
	Kept []storage.File
}

// Classifies reports whether the model predicts classes.
func (m *Model) Classifies() bool { return m.Manifest.Task == Classification }

// NumericClasses reports whether the classes are numbers.
func (m *Model) NumericClasses() bool {
	return m.Manifest.Vocabulary != nil && m.Manifest.Vocabulary.Numeric
}

// Embeds reports whether the model predicts coordinates.
func (m *Model) Embeds() bool { return m.Manifest.Task == Embedding }

// Outputs returns the names of the outputs: the classes; or the name of the
// label column, "target", or "component" of an embedding, with a number behind it
// if there are several.
func (m *Model) Outputs() []string {
	if m.Classifies() {
		return slices.Clone(m.Manifest.Vocabulary.Classes)
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

// Targets stores in dst what the scores of a regression are in the units of the
// training data; of other models, the scores. Targets far from zero take the precision
// of float64.
func (m *Model) Targets(dst []float64, scores []float32) {
	mid, half := 0.0, 1.0
	if m.Manifest.Task == Regression {
		mid, half = m.Manifest.TargetGrid.Mid(), m.Manifest.TargetGrid.Half()
	}
	for i, s := range scores {
		dst[i] = mid + float64(half*float64(s))
	}
}

// Resolution returns how close two targets of a regression are that scores, which are
// in float32, tell apart: about 2⁻²⁴ of half the range.
func (m *Model) Resolution() float64 {
	if m.Manifest.Task != Regression {
		return 0x1p-24
	}
	return m.Manifest.TargetGrid.Half() * 0x1p-24
}

// WriteWeights writes the content of weights.safetensors: the tensors "weights",
// [K, D], and "intercept", [K], both F32. Equal models give equal bytes.
func WriteWeights(w io.Writer, l *Linear) error {
	return safetensors.Write(w, nil, []safetensors.Tensor{
		safetensors.Of("weights", l.W, l.K, l.D),
		safetensors.Of("intercept", l.B, l.K),
	})
}

// Encode returns the files of the model's directory, the manifest last, and sets
// what the manifest says of the other files and of itself. Map is not looked at.
func Encode(m *Model) ([]storage.File, error) {
	var weights bytes.Buffer
	if err := WriteWeights(&weights, m.Linear); err != nil {
		return nil, err
	}
	m.Manifest.Features, m.Manifest.Outputs = m.Linear.D, m.Linear.K
	m.Manifest.Files = []FileSum{SumFile(WeightsFile, weights.Bytes())}
	for _, f := range m.Kept {
		m.Manifest.Files = append(m.Manifest.Files, SumFile(f.Name, f.Data))
	}
	manifest, err := m.Manifest.Encode()
	if err != nil {
		return nil, err
	}
	files := append([]storage.File{{Name: WeightsFile, Data: weights.Bytes()}}, m.Kept...)
	return append(files, storage.File{Name: ManifestFile, Data: manifest}), nil
}

// Check reads a model directory as Load does, but draws no map. It returns the
// manifest. For the error see Load.
func Check(ctx context.Context, dir string) (*Manifest, error) {
	m, _, err := loadManifest(ctx, dir)
	if err != nil {
		return nil, err
	}
	if _, err = loadWeights(ctx, dir, m); err != nil {
		return nil, err
	}
	return m, LoadFrequencies(ctx, dir, m)
}

// Load reads a model directory and draws its map. Files that the manifest does
// not name are ignored.
//
// The error is an ErrBadModel if files are missing or damaged, do not fit each
// other, or were written by a newer version of the program; otherwise it is one
// of storage.
func Load(ctx context.Context, dir string) (*Model, error) {
	manifest, recipe, err := loadManifest(ctx, dir)
	if err != nil {
		return nil, err
	}
	linear, err := loadWeights(ctx, dir, manifest)
	if err != nil {
		return nil, err
	}
	if err := LoadFrequencies(ctx, dir, manifest); err != nil {
		return nil, err
	}
	m, err := recipe.New()
	if err != nil {
		return nil, &badModel{dir, err}
	}
	return &Model{Manifest: manifest, Linear: linear, Map: m}, nil
}

func loadManifest(ctx context.Context, dir string) (*Manifest, features.Recipe, error) {
	data, err := read(ctx, dir, ManifestFile, MaxManifest)
	if err != nil {
		return nil, nil, err
	}
	m, recipe, err := decodeManifest(data)
	if err != nil {
		return nil, nil, &badModel{dir, err}
	}
	return m, recipe, nil
}

func loadWeights(ctx context.Context, dir string, m *Manifest) (*Linear, error) {
	f, _ := m.File(WeightsFile)
	data, err := read(ctx, dir, WeightsFile, f.Size)
	if err != nil {
		return nil, err
	}
	l, err := decodeWeights(m, data)
	if err != nil {
		return nil, &badModel{dir, err}
	}
	return l, nil
}

// LoadFrequencies reads the learned frequencies of a model directory, if it has any,
// and makes them known to the recipes of this process. For the error see Load.
func LoadFrequencies(ctx context.Context, dir string, m *Manifest) error {
	if _, ok := m.File(learned.FileName); !ok {
		return nil
	}
	data, err := ReadFile(ctx, dir, m, learned.FileName)
	if err != nil {
		return err
	}
	if _, err := learned.Provide(data); err != nil {
		return &badModel{dir, fmt.Errorf("%s: %w", learned.FileName, err)}
	}
	return nil
}

// ReadFile returns a file that the manifest of a model directory lists. The error
// is an ErrBadModel if it is not listed, missing or damaged.
func ReadFile(ctx context.Context, dir string, m *Manifest, name string) ([]byte, error) {
	f, ok := m.File(name)
	if !ok {
		return nil, &badModel{dir, fmt.Errorf("no entry for %s", name)}
	}
	data, err := read(ctx, dir, name, f.Size)
	if err != nil {
		return nil, err
	}
	if err := f.Check(data); err != nil {
		return nil, &badModel{dir, err}
	}
	return data, nil
}

// read returns the content of a file of the directory, of at most max bytes.
func read(ctx context.Context, dir, name string, max int64) ([]byte, error) {
	data, err := storage.ReadFile(ctx, storage.Join(dir, name), max)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &badModel{dir, missing(ctx, dir, name)}
	case errors.Is(err, syscall.ENOTDIR):
		return nil, &badModel{dir, errors.New("is a file, not the directory of a model")}
	case errors.Is(err, syscall.EISDIR):
		return nil, &badModel{dir, fmt.Errorf("%s is a directory; is this the directory of a model?", name)}
	case errors.Is(err, fs.ErrInvalid):
		return nil, &badModel{dir, err}
	case err != nil:
		return nil, fmt.Errorf("models: %s: %w", dir, err)
	}
	return data, nil
}

// missing tells what is missing of a model.
func missing(ctx context.Context, dir, name string) error {
	if there, err := storage.Exists(ctx, dir); !there && err == nil {
		return errors.New("there is no such directory")
	}
	if name == ManifestFile {
		return fmt.Errorf("%s is missing; is this the directory of a model?", name)
	}
	return fmt.Errorf("%s is missing; copy the model again", name)
}

// decodeWeights reads the weights file of the model of the manifest.
func decodeWeights(m *Manifest, data []byte) (*Linear, error) {
	f, _ := m.File(WeightsFile)
	if err := f.Check(data); err != nil {
		return nil, err
	}
	return ReadWeights(data, m.Outputs, m.Features)
}

// ReadWeights reads what WriteWeights writes for K outputs on D features.
func ReadWeights(data []byte, k, d int) (*Linear, error) {
	file, err := safetensors.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", WeightsFile, err)
	}
	l := &Linear{K: k, D: d}
	if l.W, err = tensor(file, "weights", l.K, l.D); err != nil {
		return nil, err
	}
	if l.B, err = tensor(file, "intercept", l.K); err != nil {
		return nil, err
	}
	return l, nil
}

// tensor reads finite numbers of the given shape.
func tensor(file *safetensors.File, name string, shape ...int) ([]float32, error) {
	if info, ok := file.Lookup(name); ok && !slices.Equal(info.Shape, shape) {
		return nil, fmt.Errorf("%s: tensor %q has the shape %v, want %v", WeightsFile, name, info.Shape, shape)
	}
	v, err := safetensors.Values[float32](file, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", WeightsFile, err)
	}
	for i, x := range v {
		if x-x != 0 {
			return nil, fmt.Errorf("%s: tensor %q: number %d is %g", WeightsFile, name, i, x)
		}
	}
	return v, nil
}

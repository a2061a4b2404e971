package models

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
)

// manifestFormat is the version of the model directory.
const manifestFormat = 1

// Names of the files of a model directory.
const (
	ManifestFile = "manifest.json"
	WeightsFile  = "weights.safetensors"
	ProfileFile  = "profile.json" // statistics of the training rows; see sums.Profile
)

// MaxManifest is the largest manifest that is read, in bytes.
const MaxManifest = 64 << 20

// Task is what a model predicts.
type Task string

const (
	Classification Task = "classification" // one of the classes of the vocabulary
	Regression     Task = "regression"     // numbers in the range of the target grid or near it
	Embedding      Task = "embedding"      // coordinates along the directions of greatest variance of the features
)

// RowWeights describes the weights of the training rows.
type RowWeights struct {
	Column string `json:"column"` // name of the column with the weights
	profile.Weights
	// Grid is the grid of the weights in exact sums; nil if all weights were equal, and for other learners.
	Grid *profile.WeightGrid `json:"grid,omitempty"`
}

// Manifest is the content of manifest.json: all of a model except its weights.
//
// Its last field is a checksum of the rest: the SHA-256, in hexadecimal, of all lines of the file except
// the last two, as printed by
//
//	head -n -2 manifest.json | sha256sum
//
// A manifest contains neither times nor paths, so equal models have equal manifests.
type Manifest struct {
	Format  int    `json:"format"`  // version of this layout
	Program string `json:"program"` // version of the program that wrote it
	Task    Task   `json:"task"`
	Seed    uint64 `json:"seed,string"` // of folds and samples; a string, because some readers hold numbers in float64

	Recipe   features.Sealed `json:"recipe"`   // of the map, including the preprocessing of rows
	Features int             `json:"features"` // D, the number of features of the map
	Outputs  int             `json:"outputs"`  // k, the number of classes or targets
	Learner  Learner         `json:"learner"`

	// Search describes the search that found the recipe; nil without a search.
	Search *Search `json:"search,omitempty"`

	Extensions

	Input Input `json:"input"`
	Targets
	TrainingData
	Checksums
}

// Extensions holds the parts of a model that predict more than the scores of its outputs.
type Extensions struct {
	Probabilities *Probabilities `json:"probabilities,omitempty"` // of a classification; nil if the model has scores only
	// Positive is the class, of two, to which a threshold, precision, recall and F1 refer. "" means
	// the second class.
	Positive string `json:"positive,omitempty"`
	// Threshold, unless nil, decides between two classes.
	Threshold *Threshold `json:"threshold,omitempty"`
	// Segments are rows that have weights of their own; nil for none.
	Segments *Segments `json:"segments,omitempty"`
	// Sketch measures how far rows are from the training rows; nil if the model has none.
	Sketch *Sketch `json:"sketch,omitempty"`
	// Intervals holds the scores behind intervals and sets; nil if the model has none.
	Intervals *Intervals `json:"intervals,omitempty"`
}

// Targets gives the meaning of the outputs.
type Targets struct {
	Vocabulary *schema.Vocabulary `json:"vocabulary,omitempty"`  // of a classification: output c is class c
	TargetGrid linear.Grids       `json:"target_grid,omitempty"` // of a regression: targets are Mid + Half·score
}

// TrainingData describes the rows that the model was trained on.
type TrainingData struct {
	Rows        RowCounts          `json:"rows"`
	Weights     *RowWeights        `json:"weights,omitempty"` // nil if rows had none
	Profile     Profile            `json:"profile"`
	Scores      map[string]float64 `json:"scores,omitempty"` // by name, on data that the model was evaluated on
	Fingerprint string             `json:"data_fingerprint"` // the same for equal rows, however they are split into files
}

// Checksums holds the checksums of the other files of the directory and of the manifest.
type Checksums struct {
	Files  []FileEntry `json:"files"` // the other files of the directory
	SHA256 string      `json:"sha256"`
}

// ByAllFolds is the Learner.Select of a λ with the least mean squared error over all folds, although a
// search has seen the rows of all folds but the first.
const ByAllFolds = "all_folds"

// Learner describes how the weights were fitted.
type Learner struct {
	Kind   string  `json:"kind"`   // ridge, svm, sgd or pca
	Lambda float64 `json:"lambda"` // the λ of the weights, on the mean loss
	Folds  int     `json:"folds"`  // number of folds of the cross-validation; 1 if there was none
	// Split is the rule by which columns assign rows to folds; nil if the content of rows does.
	Split *profile.FoldRule `json:"split,omitempty"`
	Table []ridge.CVResult  `json:"table,omitempty"` // results for each λ
	// RuledOut holds the values of λ that are not in the table because results on a part of the features,
	// with the same held-out rows, ruled them out.
	RuledOut []float64 `json:"ruled_out,omitempty"`
	// Select is what chose λ: error or log_loss on the rows of the first fold; ByAllFolds, if the table
	// has only the first fold; or "", the least mean squared error in the table.
	Select string       `json:"select,omitempty"`
	Log    *TrainingLog `json:"log,omitempty"` // of an iterative learner
	// TargetR2 holds for each of several targets its R² on the rows of the first fold, by weights that were
	// fitted without them.
	TargetR2 []float64 `json:"target_r2,omitempty"`
	// ClassWeights holds the weights of the classes in exact sums; nil if all are 1. An iterative learner has
	// its class weights in its options.
	ClassWeights []float64 `json:"class_weights,omitempty"`
	// Steps is the number of grid steps from 0 to the bound of the features, if sums were made on a grid:
	// 127 for 8 bits.
	Steps int `json:"steps,omitempty"`

	Components []Component `json:"components,omitempty"` // of an embedding, in the order of the outputs
}

// Search describes a search for the recipe on a pilot sample of the training rows. The file search.json of
// the directory has all trials.
type Search struct {
	Tried   int         `json:"tried"`  // number of candidates
	Rows    int         `json:"rows"`   // number of rows of the pilot
	Judged  int         `json:"judged"` // number of rows whose losses decided
	Classes bool        `json:"classes"`
	Default SearchTrial `json:"default"`
	Chosen  SearchTrial `json:"chosen"`
}

// SearchTrial is the result of a candidate, tried on few rows with few features.
type SearchTrial struct {
	Features string `json:"features"` // in words
	// Loss is the log loss for classes, otherwise the squared error divided by the variance of the same
	// rows.
	Loss  float64 `json:"loss"`
	Error float64 `json:"error"` // for classes
}

// Component is a direction in the space of features.
type Component struct {
	Variance float64 `json:"variance"` // variance of the rows along it
	Share    float64 `json:"share"`    // Variance divided by the variance of all features
}

// TrainingLog records the rounds of an iterative learner.
type TrainingLog struct {
	Loss       string          `json:"loss"`
	Options    json.RawMessage `json:"options"` // all options of the learner
	Partitions int             `json:"partitions"`
	Rounds     int             `json:"rounds"` // number of rounds until the weights were taken
	Ended      string          `json:"ended"`  // why training stopped

	Rows      int64   `json:"rows"`      // number of training rows
	Objective float64 `json:"objective"` // mean loss of those rows plus λ/2‖W‖²
	Optimality

	iterative.HeldOut
	// HeldOutOf is the number of states, after 0 rounds and more, among which the weights were chosen for
	// the smallest held-out error, so the error on new rows may be larger. It is 0 if the weights were not
	// chosen that way.
	HeldOutOf int `json:"held_out_of,omitempty"`

	Path []LambdaTrial `json:"path,omitempty"` // results for each λ
}

// Optimality bounds how far the objective is from its minimum.
type Optimality struct {
	Dual *float64 `json:"dual,omitempty"` // a lower bound of the least objective
	Gap  *float64 `json:"gap,omitempty"`  // Objective − Dual
	// Above bounds how far Objective is above its minimum, by the gradient of the last state, for learners
	// without a dual.
	Above *float64 `json:"above,omitempty"`
	// Residual is the largest relative residual ‖b − A w‖/‖b‖ of the equations that the weights solve,
	// recomputed from the rows, for learners that solve equations. cg rounds features to 16 bits; the
	// equations have the rounded features.
	Residual *float64 `json:"residual,omitempty"`
	// Converged reports whether Gap or Above is small.
	Converged *bool `json:"converged,omitempty"`
}

// LambdaTrial is the result of one λ on held-out rows.
type LambdaTrial struct {
	Lambda    float64 `json:"lambda"`
	Rounds    int     `json:"rounds"`
	Objective float64 `json:"objective"`
	iterative.HeldOut
	HeldOutOf int `json:"held_out_of,omitempty"` // as in TrainingLog
}

// Input describes the rows that a model takes.
type Input struct {
	Format  string          `json:"format"`            // of the training data: csv, libsvm, …
	Dim     int             `json:"dim"`               // numbers in a row
	Columns []string        `json:"columns,omitempty"` // their names, if the data has names
	Label   string          `json:"label,omitempty"`   // name of the label column, if it has a name
	Labels  []string        `json:"labels,omitempty"`  // names of several label columns, one per output
	Options json.RawMessage `json:"options,omitempty"` // options of the format's reader
}

// RowCounts accounts for the rows of the training data: Read = Used + SetAside.
type RowCounts struct {
	Read     int64 `json:"read"`
	Used     int64 `json:"used"`
	SetAside int64 `json:"set_aside"`
}

// Profile describes the rows that were used.
type Profile struct {
	ClassCounts []int64 `json:"class_counts,omitempty"` // in the order of the vocabulary
	Width       float64 `json:"width,omitempty"`        // of the kernel, if it has one
}

// FileEntry identifies the content of a file of the directory.
type FileEntry struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`   // bytes
	SHA256 string `json:"sha256"` // in hexadecimal
}

// NewFileEntry returns the entry of a file with that name and content.
func NewFileEntry(name string, data []byte) FileEntry {
	return FileEntry{Name: name, Size: int64(len(data)), SHA256: hexDigest(data)}
}

// Check returns an error if the content of a file differs from its entry.
func (f FileEntry) Check(data []byte) error {
	switch {
	case int64(len(data)) != f.Size:
		return fmt.Errorf("%s has %d bytes, the manifest says %d; copy the model again", f.Name, len(data), f.Size)
	case hexDigest(data) != f.SHA256:
		return fmt.Errorf("%s is damaged: its checksum does not match; copy the model again", f.Name)
	}
	return nil
}

// PositiveClass returns the index of Positive; 1 if there is none.
func (m *Manifest) PositiveClass() int {
	if m.Vocabulary != nil && len(m.Vocabulary.Classes) == 2 && m.Positive == m.Vocabulary.Classes[0] {
		return 0
	}
	return 1
}

// File returns the entry of the file with that name, and whether there is one.
func (m *Manifest) File(name string) (FileEntry, bool) {
	for _, f := range m.Files {
		if f.Name == name {
			return f, true
		}
	}
	return FileEntry{}, false
}

// The last two lines of a file with its checksum are tailStart, the checksum, and tailEnd.
const (
	tailStart = `  "sha256": "`
	tailEnd   = "\"\n}\n"
)

// EncodeWithChecksum encodes v as a JSON file with its checksum, which it also returns: the SHA-256 of the file
// without its last two lines. The checksum replaces the last field of v, which must be a string with the JSON
// name sha256.
func EncodeWithChecksum(v any) (data []byte, sum string, err error) {
	if data, err = json.MarshalIndent(v, "", "  "); err != nil {
		return nil, "", err
	}
	at := bytes.LastIndex(data, []byte("\n"+tailStart)) + 1
	if at == 0 || bytes.Count(data[at:], []byte("\n")) != 1 {
		panic("models: sha256 is not the last field")
	}
	sum = hexDigest(data[:at])
	return append(data[:at], tailStart+sum+tailEnd...), sum, nil
}

// HasChecksum reports whether a file has the checksum that EncodeWithChecksum wrote.
func HasChecksum(data []byte) bool {
	tail := len(data) - len(tailStart) - 2*sha256.Size - len(tailEnd)
	return tail >= 0 && string(data[tail:]) == tailStart+hexDigest(data[:tail])+tailEnd
}

// Encode returns the content of manifest.json and sets Format and SHA256. It fails if Load would refuse the
// manifest, or if JSON cannot represent a number.
func (m *Manifest) Encode() (data []byte, err error) {
	m.Format = manifestFormat
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("models: manifest: %w", err)
	}
	if data, m.SHA256, err = EncodeWithChecksum(m); err != nil {
		err = fmt.Errorf("models: manifest: %w", err)
	}
	return data, err
}

// decodeManifest decodes and checks what Encode writes.
func decodeManifest(data []byte) (*Manifest, error) {
	// Check the version first: later versions may have another layout.
	var version struct {
		Format int    `json:"format"`
		Kind   string `json:"kind"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w); copy the model again", ManifestFile, err)
	}
	if version.Kind == "sums" {
		return nil, errors.New("is a directory of sums, not a model; bochner fit makes a model of sums")
	}
	if version.Format > manifestFormat {
		return nil, fmt.Errorf("format version %d, this program reads %d; upgrade bochner", version.Format,
			manifestFormat)
	}
	if !HasChecksum(data) {
		return nil, errors.New(ManifestFile +
			" is damaged or was edited: its checksum does not match; copy the model again")
	}
	m := new(Manifest)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestFile, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestFile, err)
	}
	return m, nil
}

func hexDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

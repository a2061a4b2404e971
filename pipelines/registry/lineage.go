package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/sums"
)

// LineageFile is the name of the file of a model directory with its Lineage. The manifest does not list it, so that
// equal models have equal manifests wherever their data was.
const LineageFile = "lineage.json"

// maxLineage is the largest lineage that is read, in bytes.
const maxLineage = 64 << 20

// Lineage lists what a model was made from. Training jobs write neither the time of the run nor directories of
// files on disk, so that lineages of equal files are equal. If the files on disk have more than 1 GiB in all,
// their versions have the times at which they changed, so that lineages of copies differ. A retraining adds the
// day, and the fields about the directory of models.
type Lineage struct {
	Program string `json:"program"`       // version of the program that made it
	Day     string `json:"day,omitempty"` // day of a retraining; "" for other models
	Origins
	// Drawn holds the sources from which the recipe was drawn, if these are not Sources.
	Drawn   []string `json:"drawn,omitempty"`
	Sources []Source `json:"sources"` // training data, in order
	HeldOut *Source  `json:"held_out,omitempty"`
	// Forgotten identifies forgotten rows, by HMACs of the digests of their sums.
	Forgotten []string `json:"forgotten,omitempty"`
	Sizes     []Size   `json:"sizes,omitempty"` // numbers of features that were tried on all rows
	Command   string   `json:"command,omitempty"`
	Seen      string   `json:"seen,omitempty"` // digest of all sources that existed
}

// Origins holds the models that a model was made from.
type Origins struct {
	// Recipe is the name of the model with the same recipe, if it is known. If the recipe was drawn for this
	// model, it is the model itself or "", and Redrawn is the reason. RecipeSHA256 is the digest of the recipe, if
	// it belongs to another model.
	Recipe       string `json:"recipe,omitempty"`
	RecipeSHA256 string `json:"recipe_sha256,omitempty"`
	Redrawn      string `json:"redrawn,omitempty"`
	// Init is the model with the initial weights, and Features the directory of learned features; nil for none.
	Init     *Parent `json:"init,omitempty"`
	Features *Parent `json:"features,omitempty"`
}

// Parent is a directory that a model was made from.
type Parent struct {
	Name   string `json:"name"`   // without the directory that it is in
	SHA256 string `json:"sha256"` // of the manifest of a model, or of align.json
}

// Size is a trial of a number of features.
type Size struct {
	Features int     `json:"features"`
	Chosen   bool    `json:"chosen,omitempty"`
	Lambda   float64 `json:"lambda"`
	Loss     float64 `json:"loss,omitempty"` // held-out mean squared error; 0 without held-out rows
	// Gain is the relative decrease of the loss from the previous number, and StdErr its standard error.
	Gain   float64 `json:"gain,omitempty"`
	StdErr float64 `json:"gain_std_err,omitempty"`
}

// Source is a part of the training data, such as a day.
type Source struct {
	Name string `json:"name,omitempty"`
	Sums string `json:"sums,omitempty"` // the directory of its sums
	// Digest is the digest in the sums of the source (sums.Leaf), or of the list of its files.
	Digest string `json:"digest,omitempty"`
	Files  []File `json:"files"`
}

// File is a version of a file.
type File struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	// Version is the URI and generation of an object. Of a file on disk it is the SHA-256 of the content, or its
	// size and the times at which content and file changed, if the files have more than 1 GiB.
	Version string `json:"version"`
}

// maxHashed is the total size of files on disk up to which a lineage has their hashes. They are read again for
// this. For larger data it has sizes and times.
const maxHashed = 1 << 30

// FilesOf describes the files of a dataset.
func FilesOf(ctx context.Context, d *dataset.Dataset) ([]File, error) {
	inputs, err := sums.InputsOf(ctx, d, maxHashed)
	return FilesOfInputs(inputs), err
}

// Follow adds the fields that a retraining does not know from the lineage that the job has written. job may be
// nil.
func (l *Lineage) Follow(job *Lineage) {
	if job != nil {
		l.RecipeSHA256, l.Init, l.Features, l.Sizes = job.RecipeSHA256, job.Init, job.Features, job.Sizes
	}
}

// FilesOfInputs describes the files of sums.
func FilesOfInputs(inputs []sums.Input) (all []File) {
	for _, in := range inputs {
		all = append(all, File{Name: in.Name, Bytes: in.Size, Version: in.Version})
	}
	return all
}

// File returns the lineage as a file of the model directory.
func (l *Lineage) File() (storage.File, error) {
	data, err := json.MarshalIndent(l, "", "  ")
	return storage.File{Name: LineageFile, Data: append(data, '\n')}, err
}

// WriteLineage stores the lineage of a model.
func (r Registry) WriteLineage(ctx context.Context, model string, l *Lineage) error {
	f, err := l.File()
	if err != nil {
		return err
	}
	return storage.WriteFile(ctx, storage.Join(r.ModelDir(model), f.Name), f.Data)
}

// ReadLineage returns the lineage in the directory of a model, nil if there is none.
func ReadLineage(ctx context.Context, dir string) (*Lineage, error) {
	name := storage.Join(dir, LineageFile)
	data, err := storage.ReadFile(ctx, name, maxLineage)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := new(Lineage)
	if err := json.Unmarshal(data, l); err != nil {
		return nil, fmt.Errorf("registry: %s: %w", name, err)
	}
	return l, nil
}

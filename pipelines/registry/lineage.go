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

// LineageFile is the file of a model directory that tells from what the model was made. The
// manifest does not list it: equal models keep equal manifests, wherever their data was.
const LineageFile = "lineage.json"

// maxLineage is the largest lineage that is read, in bytes.
const maxLineage = 64 << 20

// Lineage tells from what a model was made. Jobs that train write what they know of it: neither
// times nor places of files on disk, so that it is equal for equal files. A retraining adds the day
// and all that is about the directory of models.
type Lineage struct {
	Program string `json:"program"`       // version of the program that made it
	Day     string `json:"day,omitempty"` // that a retraining worked for; "" of other models
	Origins
	// Drawn are the parts from whose rows the recipe was drawn; none if they are Parts.
	Drawn   []string `json:"drawn,omitempty"`
	Parts   []Part   `json:"parts"` // that it was trained on, in order
	HeldOut *Part    `json:"held_out,omitempty"`
	// Forgotten are digests of the sums of rows that were subtracted.
	Forgotten []string `json:"forgotten,omitempty"`
	Sizes     []Size   `json:"sizes,omitempty"` // numbers of features that were tried on all rows
	Command   string   `json:"command,omitempty"`
	Seen      string   `json:"seen,omitempty"` // digest of all parts that there were
}

// Origins says which models a model follows from.
type Origins struct {
	// Recipe names the model whose recipe it has, as far as that is known. It is the model itself, or
	// "", if the recipe was drawn for it; Redrawn says why. RecipeSHA256 is the digest of the recipe
	// of a model that was trained by the sums of another's.
	Recipe       string `json:"recipe,omitempty"`
	RecipeSHA256 string `json:"recipe_sha256,omitempty"`
	Redrawn      string `json:"redrawn,omitempty"`
	// Init is the model whose weights its own began with, and Features the directory of learned
	// features that it uses; nil for none.
	Init     *Parent `json:"init,omitempty"`
	Features *Parent `json:"features,omitempty"`
}

// Parent is a directory that a model follows from.
type Parent struct {
	Name   string `json:"name"`   // without the directory that it is in
	SHA256 string `json:"sha256"` // of the manifest of a model, or of align.json
}

// Size is a number of features that was tried.
type Size struct {
	Features int     `json:"features"`
	Chosen   bool    `json:"chosen,omitempty"`
	Lambda   float64 `json:"lambda"`
	Loss     float64 `json:"loss,omitempty"` // held-out mean squared error; 0 without held-out rows
	// Gain is the share by which the loss is smaller than with the number before, and StdErr its
	// standard error.
	Gain   float64 `json:"gain,omitempty"`
	StdErr float64 `json:"gain_std_err,omitempty"`
}

// Part is a part of the data, such as a day.
type Part struct {
	Name string `json:"name,omitempty"`
	Sums string `json:"sums,omitempty"` // the directory of its sums
	// Digest is the digest of the part as its sums have it (sums.Leaf), or of the list of its
	// files.
	Digest string `json:"digest,omitempty"`
	Files  []File `json:"files"`
}

// File is a file as it was read.
type File struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	// Version is the generation on gs://, and elsewhere the SHA-256 of the content or what changes with
	// it.
	Version string `json:"version"`
}

// maxHashed is the size of files on disk up to which a lineage has their hashes, for which they are
// read once more. Of more bytes it has sizes and times.
const maxHashed = 1 << 30

// FilesOf describes the files of a dataset.
func FilesOf(ctx context.Context, d *dataset.Dataset) ([]File, error) {
	inputs, err := sums.InputsOf(ctx, d, maxHashed)
	return FilesOfInputs(inputs), err
}

// Follow takes from the lineage that the job wrote what a retraining does not know; nil has nothing.
func (l *Lineage) Follow(job *Lineage) {
	if job != nil {
		l.RecipeSHA256, l.Init, l.Features, l.Sizes = job.RecipeSHA256, job.Init, job.Features, job.Sizes
	}
}

// FilesOfInputs describes files that were summed.
func FilesOfInputs(inputs []sums.Input) (all []File) {
	for _, in := range inputs {
		all = append(all, File{Name: in.Name, Bytes: in.Size, Version: in.Version})
	}
	return all
}

// File returns the file of a model directory.
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
	return storage.WriteFile(ctx, storage.Join(r.Place(model), f.Name), f.Data)
}

// ReadLineage returns the lineage in the directory of a model, nil if it has none.
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

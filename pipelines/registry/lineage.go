package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/bochner-ml/bochner/io/storage"
)

// LineageFile is the file of a model directory that tells from what the model was made. The
// manifest does not list it: equal models keep equal bytes, wherever their data was.
const LineageFile = "lineage.json"

// maxLineage is the largest lineage that is read, in bytes.
const maxLineage = 64 << 20

// Lineage tells from what a model was made.
type Lineage struct {
	Program string `json:"program"` // version of the program that made it
	Day     string `json:"day,omitempty"`
	// Recipe names the model whose recipe it has; the model itself if the recipe was drawn
	// for it, and Redrawn says why.
	Recipe  string `json:"recipe"`
	Redrawn string `json:"redrawn,omitempty"`
	// Drawn are the parts from whose rows the recipe was drawn; none if they are Parts.
	Drawn   []string `json:"drawn,omitempty"`
	Parts   []Part   `json:"parts"` // that it was trained on, in order
	HeldOut *Part    `json:"held_out,omitempty"`
	Command string   `json:"command,omitempty"`
	Seen    string   `json:"seen,omitempty"` // digest of all parts that there were
}

// Part is a part of the data, such as a day.
type Part struct {
	Name   string `json:"name"`
	Sums   string `json:"sums,omitempty"`   // the directory of its sums
	Digest string `json:"digest,omitempty"` // of these
	Files  []File `json:"files"`
}

// File is a file as it was read.
type File struct {
	Name    string `json:"name"`
	Bytes   int64  `json:"bytes"`
	Version string `json:"version"` // generation on gs://, elsewhere what changes with the content
}

// WriteLineage stores the lineage of a model.
func (r Registry) WriteLineage(ctx context.Context, model string, l *Lineage) error {
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return storage.WriteFile(ctx, storage.Join(r.Place(model), LineageFile), append(data, '\n'))
}

// ReadLineage returns the lineage of a model, nil if it has none.
func (r Registry) ReadLineage(ctx context.Context, model string) (*Lineage, error) {
	name := storage.Join(r.Place(model), LineageFile)
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

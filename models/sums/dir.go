package sums

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
)

// Dir is a directory of sums.
type Dir struct {
	*Manifest
	Recipe *Recipe
	Path   string
	// Labels come from the elements of the directory's name, such as dt=2026-11-20: the value by its key.
	Labels map[string]string
	segmentFiles
	shape   ridge.Shape
	offsets [][]int64 // offsets of the frames of each fold
}

// maxManifest limits the size of ManifestFile.
const maxManifest = 1 << 30

// ReadManifest reads the manifest of a directory of sums. The error matches fs.ErrNotExist if there is no
// manifest; otherwise it explains why the directory is not one of sums.
func ReadManifest(ctx context.Context, path string) (*Manifest, error) {
	data, err := readFile(ctx, path, ManifestFile, maxManifest)
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(data)
	if err != nil {
		return nil, &badDir{path, err}
	}
	return m, nil
}

// Open opens a directory of sums that has no segments; see OpenSegments.
func Open(ctx context.Context, path string) (*Dir, error) {
	d, err := open(ctx, path)
	if err != nil {
		return nil, err
	}
	if d.Segments != nil {
		return nil, &badDir{path, fmt.Errorf("has sums by %s; name one without segments",
			strings.Join(d.SegmentColumns, ", "))}
	}
	return d, d.check()
}

// open reads the manifest and the recipe of a directory of sums.
func open(ctx context.Context, path string) (*Dir, error) {
	p, err := ReadManifest(ctx, path)
	if err != nil {
		return nil, err
	}
	data, err := readFile(ctx, path, RecipeFile, maxRecipe)
	if err != nil {
		return nil, err
	}
	var listed struct{ Files []models.FileEntry }
	if err := json.Unmarshal(data, &listed); err != nil {
		return nil, &badDir{path, fmt.Errorf("%s: %w", RecipeFile, err)}
	}
	var kept []storage.File
	for _, f := range listed.Files {
		if f.Name == "" || f.Name == "." || f.Name == ".." || strings.ContainsAny(f.Name, "/\\\x00") || f.Size < 0 {
			return nil, &badDir{path, fmt.Errorf("%s: an entry for %.80q of %d bytes", RecipeFile, f.Name, f.Size)}
		}
		content, err := readFile(ctx, path, f.Name, f.Size)
		if err != nil {
			return nil, err
		}
		kept = append(kept, storage.File{Name: f.Name, Data: content})
	}
	r, err := decodeRecipe(data, kept)
	if err != nil {
		return nil, &badDir{path, err}
	}
	return &Dir{Manifest: p, Recipe: r, Path: path, Labels: pathLabels(path), shape: r.Shape(len(p.Classes))}, nil
}

// pathLabels returns the labels in the elements of a path, such as dt=2026-11-20. It drops the number of a
// part of late rows, as in dt=2026-11-20-part-2.
func pathLabels(path string) map[string]string {
	labels := dataset.PathValues(path + "/")
	for name, value := range labels {
		labels[name], _, _ = strings.Cut(value, "-part-")
	}
	return labels
}

// check compares the manifest with the recipe.
func (d *Dir) check() error {
	bad := func(format string, args ...any) error { return &badDir{d.Path, fmt.Errorf(format, args...)} }
	switch {
	case d.Recipe.Digest != d.Manifest.Recipe:
		return bad("%s %w", RecipeFile, errDamaged)
	case len(d.Folds) != d.Recipe.Rule.Folds:
		return bad("sums of %d folds, want %d", len(d.Folds), d.Recipe.Rule.Folds)
	}
	if d.Recipe.Task == models.Classification {
		v, err := d.Recipe.Union(d.Classes)
		if err != nil || !slices.Equal(v.Classes, d.Classes) {
			return bad("classes that the recipe cannot have, or lacks")
		}
	}
	if err := d.shape.Validate(); err != nil {
		return bad("%w", err)
	}
	d.offsets = make([][]int64, len(d.Folds))
	for f, frames := range d.Folds {
		if want := d.shape.NumParts(); len(frames) != want {
			return bad("fold %d has %d frames, want %d", f, len(frames), want)
		}
		at := int64(0)
		if d.foldOffsets != nil {
			at = d.foldOffsets[f]
		}
		for _, frame := range frames {
			d.offsets[f] = append(d.offsets[f], at)
			at += frame.Size
		}
	}
	return nil
}

// Shape returns the shape of the sums.
func (d *Dir) Shape() ridge.Shape { return d.shape }

// FrequentRows returns the frequent rows whose copies are counted instead of summed; see profile.CopyCounter.
func (d *Dir) FrequentRows(ctx context.Context) ([]profile.FrequentRow, error) {
	if d.Manifest.Copies == nil {
		return nil, nil
	}
	data, err := d.file(ctx, CopiesFile, d.copiesOffset, d.Manifest.Copies)
	if err != nil {
		return nil, err
	}
	all, err := profile.DecodeFrequentRows(data)
	if err == nil {
		err = d.checkCopies(all)
	}
	if err != nil {
		return nil, &badDir{d.Path, fmt.Errorf("%s: %w", CopiesFile, err)}
	}
	return all, nil
}

func (d *Dir) checkCopies(all []profile.FrequentRow) error {
	outputs := 1
	if d.shape.Regression {
		outputs = d.shape.Outputs
	}
	for i := range all {
		c := &all[i]
		if len(c.X) != d.Recipe.Input.Dim || len(c.Y) != outputs {
			return fmt.Errorf("rows of %d numbers with %d labels", len(c.X), len(c.Y))
		}
		for _, y := range c.Y {
			if class := int(y); !d.shape.Regression && (class < 0 || class >= d.shape.Outputs || float64(class) != y) {
				return fmt.Errorf("class %g of %d", y, d.shape.Outputs)
			}
		}
	}
	return nil
}

// file reads a file from offset at on and checks its size and digest against want.
func (d *Dir) file(ctx context.Context, name string, at int64, want *models.FileEntry) ([]byte, error) {
	if want.Size < 0 || want.Size > MaxRowHashes*8 {
		return nil, &badDir{d.Path, fmt.Errorf("%s of %d bytes", name, want.Size)}
	}
	data := make([]byte, want.Size)
	if err := d.readAt(ctx, data, name, at); errors.Is(err, errDamaged) {
		return nil, &badDir{d.Path, fmt.Errorf("%s %w", name, err)}
	} else if err != nil {
		return nil, missing(d.Path, name, err)
	}
	if err := want.Check(data); err != nil {
		return nil, &badDir{d.Path, fmt.Errorf("%s %w", name, errDamaged)}
	}
	return data, nil
}

// readAt fills data with a file from offset at on. It returns errDamaged if the file is shorter.
func (d *Dir) readAt(ctx context.Context, data []byte, name string, at int64) error {
	in, err := storage.Open(ctx, storage.Join(d.Path, name), at, int64(len(data)))
	if err != nil {
		return err
	}
	defer in.Close()
	if _, err = io.ReadFull(in, data); err == io.EOF || err == io.ErrUnexpectedEOF {
		return errDamaged
	}
	return err
}

func readFile(ctx context.Context, path, name string, most int64) ([]byte, error) {
	data, err := storage.ReadFile(ctx, storage.Join(path, name), most)
	return data, missing(path, name, err)
}

// missing returns the error for a file of a directory of sums that cannot be read.
func missing(path, name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &badDir{path, fmt.Errorf("%s is missing; is this a directory of sums? %w", name, fs.ErrNotExist)}
	case errors.Is(err, fs.ErrInvalid):
		return &badDir{path, err}
	}
	return err
}

// Reader reads frames of directories of sums. It is not safe for concurrent use.
type Reader struct {
	zstd         *zstd.Decoder
	frame, plain []byte
}

// NewReader returns a Reader, which must be closed.
func NewReader() (*Reader, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<28),
		zstd.WithDecodeAllCapLimit(true))
	return &Reader{zstd: z}, err
}

// Close frees what the Reader holds.
func (r *Reader) Close() { r.zstd.Close() }

// Read stores part i of the sum of a fold in dst, which must have the length of the part (ridge.Shape.PartLen).
func (r *Reader) Read(ctx context.Context, dst []float64, d *Dir, fold, i int) error {
	f := d.Folds[fold][i]
	bad := func(err error) error {
		return &badDir{d.Path, fmt.Errorf("%s, frame %d: %w", FoldFile(fold), i, err)}
	}
	if f.Size > maxFrame(len(dst)) {
		return bad(errDamaged)
	}
	r.frame = slices.Grow(r.frame[:0], int(f.Size))[:f.Size]
	err := d.readAt(ctx, r.frame, FoldFile(fold), d.offsets[fold][i])
	if errors.Is(err, errDamaged) || errors.Is(err, fs.ErrNotExist) {
		return bad(err)
	} else if err != nil {
		return err
	}
	if err := r.decode(dst, r.frame, f); err != nil {
		return bad(err)
	}
	return nil
}

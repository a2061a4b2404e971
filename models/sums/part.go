package sums

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/labels"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/models/folds"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
)

// Files of a part, besides those of its recipe.
const (
	PartFile   = "manifest.json" // a Part
	CopiesFile = "copies.bin"    // rows counted apart, as folds.AppendContents encodes them
	RowsFile   = "rows.json"     // profile.Statistics of the rows of the part
)

// FoldFile returns the name of the file with the sums of a fold.
func FoldFile(fold int) string { return fmt.Sprintf("fold-%05d.sums", fold) }

// Kind tells a part from other directories with a manifest.
const Kind = "sums"

// Part is the manifest of a directory of sums.
type Part struct {
	Format  int    `json:"format"`
	Kind    string `json:"kind"`
	Program string `json:"program"` // version of the program that wrote it
	Recipe  string `json:"recipe"`  // Recipe.Digest

	Rows models.Rows `json:"rows"`
	// Classes are those of the recipe and of the rows, ClassCounts the rows of each.
	Classes     []string `json:"classes,omitempty"`
	ClassCounts []int64  `json:"class_counts,omitempty"`

	// Leaves are the parts of the data that the sums are of.
	Leaves []Leaf `json:"parts"`
	// Forgotten are digests of rows that were subtracted from them.
	Forgotten []string `json:"forgotten,omitempty"`
	// Drift says how far the rows are from those of the recipe; nil if sums were added up.
	Drift *drift.Report `json:"drift,omitempty"`

	Folds [][]Frame `json:"folds"` // the frames of each FoldFile
	// Copies and Statistics describe CopiesFile and RowsFile; nil if there is none.
	Copies     *models.FileSum `json:"copies,omitempty"`
	Statistics *models.FileSum `json:"statistics,omitempty"`

	// Sums is the digest of the sums: equal for equal rows, however they were cut.
	Sums   string `json:"sums_sha256"`
	SHA256 string `json:"sha256"` // of the manifest without its last two lines
}

// Leaf is a part of the data that was summed at once.
type Leaf struct {
	Name   string      `json:"name"`   // last element of the part's place, for people
	Digest string      `json:"digest"` // of recipe, files and roles of columns
	Rows   models.Rows `json:"rows"`
	Files  []Input     `json:"files"`
}

// Input is a file that was summed.
type Input struct {
	Name string `json:"name"` // without directories
	Size int64  `json:"size"`
	// Version is the URI and generation of an object, or the SHA-256 of the content of a file on
	// disk.
	Version string `json:"version"`
}

// NewLeaf describes files that are summed under a recipe, with the columns that have labels and
// weights.
func NewLeaf(name, recipe, label, weight string, files []Input) Leaf {
	texts := []string{recipe, label, weight}
	var all []string
	for _, f := range files {
		all = append(all, fmt.Sprintf("%d %s", f.Size, f.Version))
	}
	slices.Sort(all) // the order of files does not matter
	return Leaf{Name: name, Digest: digestOf(append(texts, all...)...), Files: files}
}

// tail ends a manifest, as that of a model.
const (
	tailStart = "  \"sha256\": \""
	tailEnd   = "\"\n}\n"
)

// Encode returns the content of PartFile and sets Format, Kind, Sums and SHA256.
func (p *Part) Encode() ([]byte, error) {
	p.Format, p.Kind, p.SHA256 = Format, Kind, ""
	p.Sums = p.digest()
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, err
	}
	body, ok := bytes.CutSuffix(append(data, '\n'), []byte(tailStart+tailEnd))
	if !ok {
		panic("sums: sha256 is not the last field")
	}
	p.SHA256 = models.SumFile("", body).SHA256
	return append(body, tailStart+p.SHA256+tailEnd...), nil
}

// Files returns all files of a directory of sums, given those with sums and whatever else there is.
// The manifest is the last.
func (p *Part) Files(r *Recipe, files []storage.File) ([]storage.File, error) {
	recipe, err := r.Encode()
	if err != nil {
		return nil, err
	}
	manifest, err := p.Encode()
	if err != nil {
		return nil, err
	}
	files = append(slices.Clone(files), storage.File{Name: RecipeFile, Data: recipe})
	return append(append(files, r.Kept...), storage.File{Name: PartFile, Data: manifest}), nil
}

// digest is that of the sums.
func (p *Part) digest() string {
	texts := []string{p.Recipe, strings.Join(p.Classes, "\x01"), fmt.Sprint(p.ClassCounts, p.Rows.Used)}
	for _, frames := range p.Folds {
		for _, f := range frames {
			texts = append(texts, f.SHA256)
		}
	}
	if p.Copies != nil {
		texts = append(texts, p.Copies.SHA256)
	}
	return digestOf(texts...)
}

// decodePart reads what Encode returns.
func decodePart(data []byte) (*Part, error) {
	p := new(Part)
	tail := len(data) - len(tailStart) - 64 - len(tailEnd)
	if err := json.Unmarshal(data, p); err != nil || p.Kind != Kind {
		return nil, errors.New("is not a directory of sums, as bochner sum makes them")
	}
	if p.Format < 1 || p.Format > Format {
		return nil, fmt.Errorf("format version %d, this program reads up to %d; upgrade bochner", p.Format, Format)
	}
	if tail < 0 || string(data[tail:]) != tailStart+models.SumFile("", data[:tail]).SHA256+tailEnd {
		return nil, fmt.Errorf("%s %w", PartFile, errDamaged)
	}
	switch {
	case p.Sums != p.digest():
		return nil, fmt.Errorf("%s %w", PartFile, errDamaged)
	case len(p.Folds) < 1 || len(p.Folds) > maxFolds || len(p.ClassCounts) != len(p.Classes) || len(p.Classes) > ridge.MaxOutputs:
		return nil, fmt.Errorf("%d folds, and counts of %d classes for %d", len(p.Folds), len(p.ClassCounts), len(p.Classes))
	case p.Rows.Used < 0 || p.Rows.SetAside < 0 || p.Rows.Read != p.Rows.Used+p.Rows.SetAside:
		return nil, fmt.Errorf("%d rows read, %d used, %d set aside: the numbers do not add up", p.Rows.Read, p.Rows.Used, p.Rows.SetAside)
	}
	for _, frames := range p.Folds {
		for _, f := range frames {
			if sum, err := hex.DecodeString(f.SHA256); err != nil || len(sum) != 32 || f.Size < 2 || f.Size > 1<<32 {
				return nil, fmt.Errorf("a frame of %d bytes, with checksum %.80q", f.Size, f.SHA256)
			}
		}
	}
	return p, nil
}

// Error says why a directory of sums cannot be used. errors.Is finds models.ErrBadModel in it: the
// directory is damaged, or too new.
type Error struct {
	Place string
	Err   error
}

func (e *Error) Error() string        { return "sums: " + e.Place + ": " + e.Err.Error() }
func (e *Error) Unwrap() error        { return e.Err }
func (e *Error) Is(target error) bool { return target == models.ErrBadModel }

// Dir is a directory of sums.
type Dir struct {
	*Part
	Recipe *Recipe
	Place  string
	shape  ridge.Shape
	at     [][]int64 // where the frames of each fold begin
}

// maxPart limits the size of PartFile.
const maxPart = 1 << 30

// ReadPart reads the manifest of a directory of sums. The error is an fs.ErrNotExist if there is no
// such directory, and otherwise says why it is not one.
func ReadPart(ctx context.Context, place string) (*Part, error) {
	data, err := readFile(ctx, place, PartFile, maxPart)
	if err != nil {
		return nil, err
	}
	p, err := decodePart(data)
	if err != nil {
		return nil, &Error{place, err}
	}
	return p, nil
}

// Open opens a directory of sums.
func Open(ctx context.Context, place string) (*Dir, error) {
	p, err := ReadPart(ctx, place)
	if err != nil {
		return nil, err
	}
	data, err := readFile(ctx, place, RecipeFile, maxRecipe)
	if err != nil {
		return nil, err
	}
	var listed struct{ Files []models.FileSum }
	if err := json.Unmarshal(data, &listed); err != nil {
		return nil, &Error{place, fmt.Errorf("%s: %w", RecipeFile, err)}
	}
	var kept []storage.File
	for _, f := range listed.Files {
		if f.Name == "" || f.Name == "." || f.Name == ".." || strings.ContainsAny(f.Name, "/\\\x00") || f.Size < 0 {
			return nil, &Error{place, fmt.Errorf("%s: an entry for %.80q of %d bytes", RecipeFile, f.Name, f.Size)}
		}
		content, err := readFile(ctx, place, f.Name, f.Size)
		if err != nil {
			return nil, err
		}
		kept = append(kept, storage.File{Name: f.Name, Data: content})
	}
	r, err := decodeRecipe(data, kept)
	if err != nil {
		return nil, &Error{place, err}
	}
	d := &Dir{Part: p, Recipe: r, Place: place, shape: r.Shape(len(p.Classes))}
	return d, d.check()
}

// check compares the manifest with the recipe.
func (d *Dir) check() error {
	bad := func(format string, args ...any) error { return &Error{d.Place, fmt.Errorf(format, args...)} }
	switch {
	case d.Recipe.Digest != d.Part.Recipe:
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
	d.at = make([][]int64, len(d.Folds))
	for f, frames := range d.Folds {
		if want := ridge.NumParts(d.shape); len(frames) != want {
			return bad("fold %d has %d frames, want %d", f, len(frames), want)
		}
		at := int64(0)
		for _, frame := range frames {
			d.at[f] = append(d.at[f], at)
			at += frame.Size
		}
	}
	return nil
}

// Shape returns the shape of the sums.
func (d *Dir) Shape() ridge.Shape { return d.shape }

// Vocabulary returns the classes; nil if there are none.
func (d *Dir) Vocabulary() *labels.Vocabulary {
	if d.Recipe.Classes == nil {
		return nil
	}
	return labels.New(d.Classes)
}

// Copies returns the rows that are counted apart.
func (d *Dir) Copies(ctx context.Context) ([]folds.Content, error) {
	if d.Part.Copies == nil {
		return nil, nil
	}
	data, err := d.file(ctx, CopiesFile, d.Part.Copies)
	if err != nil {
		return nil, err
	}
	all, err := folds.DecodeContents(data)
	if err == nil {
		err = d.checkCopies(all)
	}
	if err != nil {
		return nil, &Error{d.Place, fmt.Errorf("%s: %w", CopiesFile, err)}
	}
	return all, nil
}

func (d *Dir) checkCopies(all []folds.Content) error {
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

// RowStatistics returns the statistics of the rows of the part; nil if it has none, because its
// sums were added or subtracted.
func (d *Dir) RowStatistics(ctx context.Context) (*profile.Statistics, error) {
	if d.Statistics == nil {
		return nil, nil
	}
	data, err := d.file(ctx, RowsFile, d.Statistics)
	if err != nil {
		return nil, err
	}
	s := new(profile.Statistics)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, &Error{d.Place, fmt.Errorf("%s: %w", RowsFile, err)}
	}
	return s, nil
}

func (d *Dir) file(ctx context.Context, name string, want *models.FileSum) ([]byte, error) {
	data, err := readFile(ctx, d.Place, name, want.Size)
	if err != nil {
		return nil, err
	}
	if err := want.Check(data); err != nil {
		return nil, &Error{d.Place, fmt.Errorf("%s %w", name, errDamaged)}
	}
	return data, nil
}

func readFile(ctx context.Context, place, name string, most int64) ([]byte, error) {
	data, err := storage.ReadFile(ctx, storage.Join(place, name), most)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Error{place, fmt.Errorf("%s is missing; is this a directory of sums? %w", name, fs.ErrNotExist)}
	case errors.Is(err, fs.ErrInvalid):
		return nil, &Error{place, err}
	}
	return data, err
}

// Reader reads frames of directories of sums. It is not safe for concurrent use.
type Reader struct {
	d     *decoder
	frame []byte
}

// NewReader returns a Reader, which must be closed.
func NewReader() (*Reader, error) {
	d, err := newDecoder()
	return &Reader{d: d}, err
}

// Close frees what the Reader holds.
func (r *Reader) Close() { r.d.close() }

// Read stores part i of the sum of a fold in dst, whose length is that of the part (see
// ridge.Sum.Part).
func (r *Reader) Read(ctx context.Context, dst []float64, d *Dir, fold, i int) error {
	f := d.Folds[fold][i]
	bad := func(err error) error {
		return &Error{d.Place, fmt.Errorf("%s, frame %d: %w", FoldFile(fold), i, err)}
	}
	if f.Size > maxFrame(len(dst)) {
		return bad(errDamaged)
	}
	in, err := storage.Open(ctx, storage.Join(d.Place, FoldFile(fold)), d.at[fold][i], f.Size)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return bad(err)
		}
		return err
	}
	defer in.Close()
	r.frame = slices.Grow(r.frame[:0], int(f.Size))[:f.Size]
	switch _, err := io.ReadFull(in, r.frame); {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return bad(errDamaged)
	case err != nil:
		return err
	}
	if err := r.d.decode(dst, r.frame, f); err != nil {
		return bad(err)
	}
	return nil
}

// Writer writes the sums of a part.
type Writer struct {
	e *encoder
}

// NewWriter returns a Writer.
func NewWriter() (*Writer, error) {
	e, err := newEncoder()
	return &Writer{e}, err
}

// Fold writes the parts of the sum of a fold to w, in order.
func (w *Writer) Fold(out io.Writer, parts int, load func(i int) ([]float64, error)) ([]Frame, error) {
	var frames []Frame
	var buf []byte
	for i := range parts {
		values, err := load(i)
		if err != nil {
			return nil, err
		}
		var f Frame
		buf, f = w.e.append(buf[:0], values)
		frames = append(frames, f)
		if _, err := out.Write(buf); err != nil {
			return nil, err
		}
	}
	return frames, nil
}

// Sum returns the frames of a sum, whose sizes are not known, and writes nothing.
func (w *Writer) Sum(parts int, load func(i int) ([]float64, error)) ([]Frame, error) {
	var frames []Frame
	for i := range parts {
		values, err := load(i)
		if err != nil {
			return nil, err
		}
		frames = append(frames, w.e.unpacked(values))
	}
	return frames, nil
}

// InputsOf describes the files of a dataset: objects by their generation, files on disk by their
// content, which is read.
func InputsOf(ctx context.Context, d *dataset.Dataset) ([]Input, error) {
	var out []Input
	for i := range d.Files {
		objects := []storage.Object{d.Files[i].Object}
		if l := d.Files[i].Labels; l != nil {
			objects = append(objects, *l)
		}
		for _, o := range objects {
			_, name := storage.Split(o.URI)
			in := Input{Name: name, Size: o.Size}
			if strings.Contains(o.URI, "://") {
				in.Version = o.URI + "#" + o.Version
			} else {
				sum, err := contentOf(ctx, o)
				if err != nil {
					return nil, err
				}
				in.Version = "sha256:" + sum
			}
			out = append(out, in)
		}
	}
	return out, nil
}

package models

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"syscall"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/safetensors"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/linear"
)

// ErrBadModel is found by errors.Is in the error for a directory that holds no usable model.
var ErrBadModel = errors.New("models: not a usable model")

// Error says why a directory holds no usable model. errors.Is finds ErrBadModel in it, and fs.ErrNotExist
// if there is no model at all.
type Error struct {
	Place string // the directory; "" for a file system without a name
	Err   error
}

func (e *Error) Error() string {
	if e.Place == "" {
		return "models: " + e.Err.Error()
	}
	return "models: " + e.Place + ": " + e.Err.Error()
}
func (e *Error) Unwrap() error        { return e.Err }
func (e *Error) Is(target error) bool { return target == ErrBadModel }

// NewError returns an *Error for a directory.
func NewError(dir string, reason error) error { return &Error{dir, reason} }

// Load reads the model of a directory, for instance os.DirFS("model"), and draws its map. It ignores files
// that the manifest does not name. The manifest's recipe gets the files that it refers to, such as a learned
// metric.
//
// The error is an *Error if there is no model (fs.ErrNotExist), or if files are missing, damaged,
// inconsistent, or written by a newer version of the program; otherwise it is an error of the file system.
func Load(fsys fs.FS) (*Model, error) { return load(context.Background(), inFS{fsys}) }

// LoadURI is Load for a directory on disk, or for a place such as gs://bucket/model if the program imports
// the package of its scheme, io/storage/gcs. The name may be an alias such as gs://bucket/models@champion;
// see Resolve.
func LoadURI(ctx context.Context, dir string) (*Model, error) {
	dir, err := Resolve(ctx, dir)
	if err != nil {
		return nil, err
	}
	return load(ctx, inStorage(dir))
}

// LoadWithoutMap is LoadURI without drawing the map, which may take much memory. Map is nil, so the model
// cannot predict.
func LoadWithoutMap(ctx context.Context, dir string) (*Model, error) {
	dir, err := Resolve(ctx, dir)
	if err != nil {
		return nil, err
	}
	return undrawn(ctx, inStorage(dir))
}

// CheckDir reads and checks a model directory as LoadURI does, without drawing the map, and returns the
// manifest.
func CheckDir(ctx context.Context, dir string) (*Manifest, error) {
	m, err := loadFiles(ctx, inStorage(dir))
	if err != nil {
		return nil, err
	}
	return m.Manifest, nil
}

// ReadManifest reads the manifest of a model directory and none of its other files.
func ReadManifest(ctx context.Context, dir string) (*Manifest, error) {
	data, err := read(ctx, inStorage(dir), ManifestFile, MaxManifest)
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(data)
	if err != nil {
		err = &Error{dir, err}
	}
	return m, err
}

func load(ctx context.Context, dir directory) (*Model, error) {
	m, err := undrawn(ctx, dir)
	if err != nil {
		return nil, err
	}
	recipe, err := m.Manifest.Recipe.Open()
	if err == nil {
		m.Map, err = recipe.New()
	}
	if err != nil {
		return nil, &Error{dir.place(), err}
	}
	return m, nil
}

// undrawn returns a model without its map.
func undrawn(ctx context.Context, dir directory) (*Model, error) {
	m, err := loadFiles(ctx, dir)
	if err != nil {
		return nil, err
	}
	m.fill, m.explain.dir = m.Manifest.Fill(), dir
	if err := m.readInput(); err != nil {
		return nil, &Error{dir.place(), err}
	}
	return m, nil
}

// loadFiles reads all files of a model.
func loadFiles(ctx context.Context, dir directory) (*Model, error) {
	data, err := read(ctx, dir, ManifestFile, MaxManifest)
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(data)
	if err != nil {
		return nil, &Error{dir.place(), err}
	}
	take := func(name string, use func(data []byte) error) error {
		data, err := readListed(ctx, dir, m, name)
		if err != nil {
			return err
		}
		if err := use(data); err != nil {
			return &Error{dir.place(), err}
		}
		return nil
	}
	model := &Model{Manifest: m}
	err = take(WeightsFile, func(data []byte) (err error) {
		model.Linear, err = ReadWeights(data, m.Outputs, m.Features)
		return err
	})
	if s := m.Segments; s != nil && err == nil {
		err = take(SegmentsFile, func(data []byte) error { return s.read(data, m.Outputs, m.Features) })
	}
	if s := m.Sketch; s != nil && err == nil {
		err = take(SketchFile, func(data []byte) error { return s.read(data, m.Features) })
	}
	files := new(features.Files)
	for _, name := range features.FileNames() {
		if _, ok := m.File(name); !ok || err != nil {
			continue
		}
		err = take(name, func(data []byte) error {
			if _, err := files.Add(name, data); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		})
	}
	m.Recipe = m.Recipe.WithFiles(files)
	return model, err
}

// readInput sets the fields from which the prediction methods know the form of rows.
func (m *Model) readInput() error {
	var input struct {
		Centre []float64     `json:"centre"`
		Table  *schema.Table `json:"table"`
	}
	if o := m.Manifest.Input.Options; len(o) > 0 {
		if err := json.Unmarshal(o, &input); err != nil {
			return fmt.Errorf("%s: input options: %w", ManifestFile, err)
		}
	}
	if n := len(input.Centre); n > 0 && n != m.Manifest.Input.Dim || !exact.AllFinite(input.Centre) {
		return fmt.Errorf("%s: input options: %d centres for rows of %d numbers, or a centre that is not finite",
			ManifestFile, n, m.Manifest.Input.Dim)
	}
	if t := input.Table; t != nil {
		if err := t.Validate(); err != nil {
			return fmt.Errorf("%s: input options: %w", ManifestFile, err)
		}
		if n := t.Width(); n != m.Manifest.Input.Dim {
			return fmt.Errorf("%s: input options: columns of %d values for rows of %d numbers", ManifestFile, n,
				m.Manifest.Input.Dim)
		}
	}
	m.centre, m.table, m.names = input.Centre, input.Table, m.Manifest.Input.Columns
	if m.table != nil {
		m.names = nil
		for _, c := range m.table.Columns {
			m.names = append(m.names, c.Name)
		}
	}
	m.columns = make(map[string]int, len(m.names))
	for j, name := range m.names {
		m.columns[name] = j
	}
	return nil
}

// ReadFile returns a file that the manifest of a model directory lists. The error is an ErrBadModel if the
// file is not listed, missing or damaged.
func ReadFile(ctx context.Context, dir string, m *Manifest, name string) ([]byte, error) {
	return readListed(ctx, inStorage(dir), m, name)
}

func readListed(ctx context.Context, dir directory, m *Manifest, name string) ([]byte, error) {
	f, ok := m.File(name)
	if !ok {
		return nil, &Error{dir.place(), fmt.Errorf("no entry for %s", name)}
	}
	data, err := read(ctx, dir, name, f.Size)
	if err != nil {
		return nil, err
	}
	if err := f.Check(data); err != nil {
		return nil, &Error{dir.place(), err}
	}
	return data, nil
}

// read returns a file of the directory of at most limit bytes.
func read(ctx context.Context, dir directory, name string, limit int64) ([]byte, error) {
	data, err := dir.read(ctx, name, limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Error{dir.place(), missing(ctx, dir, name)}
	case errors.Is(err, syscall.ENOTDIR):
		return nil, &Error{dir.place(), errors.New("is a file, not the directory of a model")}
	case errors.Is(err, syscall.EISDIR):
		return nil, &Error{dir.place(), fmt.Errorf("%s is a directory; is this the directory of a model?", name)}
	case errors.Is(err, fs.ErrInvalid):
		return nil, &Error{dir.place(), err}
	case err != nil:
		return nil, fmt.Errorf("models: %s: %w", dir.place(), err)
	}
	return data, nil
}

// missing returns the error for a missing file; for the manifest, that there is no model.
func missing(ctx context.Context, dir directory, name string) error {
	if !dir.exists(ctx) {
		return &storage.ReasonError{Text: "the directory does not exist", Kind: fs.ErrNotExist}
	}
	if name == ManifestFile {
		return &storage.ReasonError{Text: name + " is missing; is this the directory of a model?", Kind: fs.ErrNotExist}
	}
	return fmt.Errorf("%s is missing; copy the model again", name)
}

// directory gives access to the files of a model.
type directory interface {
	read(ctx context.Context, name string, limit int64) ([]byte, error)
	exists(ctx context.Context) bool // true if unknown
	place() string
}

type inStorage string

func (d inStorage) read(ctx context.Context, name string, limit int64) ([]byte, error) {
	return storage.ReadFile(ctx, storage.Join(string(d), name), limit)
}

func (d inStorage) exists(ctx context.Context) bool {
	exists, err := storage.Exists(ctx, string(d))
	return exists || err != nil
}

func (d inStorage) place() string { return string(d) }

type inFS struct{ fsys fs.FS }

func (d inFS) read(_ context.Context, name string, limit int64) ([]byte, error) {
	f, err := d.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case fi.IsDir():
		return nil, syscall.EISDIR
	case fi.Size() > limit:
		return nil, storage.Invalidf("%s has %d bytes; the limit is %d", name, fi.Size(), limit)
	}
	var data bytes.Buffer
	// A damaged archive may claim any size: limit what is allocated in advance.
	data.Grow(int(min(fi.Size(), 1<<24) + bytes.MinRead))
	_, err = io.Copy(&data, io.LimitReader(f, limit))
	return data.Bytes(), err
}

func (d inFS) exists(context.Context) bool {
	_, err := fs.Stat(d.fsys, ".")
	return !errors.Is(err, fs.ErrNotExist)
}

// place is the directory of os.DirFS.
func (d inFS) place() string {
	if v := reflect.ValueOf(d.fsys); v.Kind() == reflect.String {
		return v.String()
	}
	return ""
}

// ReadWeights decodes what WriteWeights writes, for k outputs on d features.
func ReadWeights(data []byte, k, d int) (*linear.Model, error) {
	file, err := safetensors.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", WeightsFile, err)
	}
	l := &linear.Model{K: k, D: d}
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
		if !exact.Finite(x) {
			return nil, fmt.Errorf("%s: tensor %q: number %d is %g", WeightsFile, name, i, x)
		}
	}
	return v, nil
}

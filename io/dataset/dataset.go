// Package dataset makes one table of rows of the files that a user names,
// whatever their format: it recognises formats, checks that the files agree,
// cuts them into shards, and reads a shard block by block.
//
// No row is lost in silence. What a reader saw of a shard stands in its Report;
// Tile checks that the shards of a file follow one another to the byte, and
// Count that every row was either used or set aside with position and reason.
package dataset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/cifario"
	"github.com/bochner-ml/bochner/io/csvio"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/storage"
)

// Format is a file format.
type Format string

// The formats that are read.
const (
	CSV      Format = "csv" // comma, semicolon or tab between fields
	TSV      Format = "tsv"
	LIBSVM   Format = "libsvm"
	IDX      Format = "idx"
	CIFAR10  Format = "cifar10" // and CIFAR-100, with its fine labels:
	CIFAR100 Format = "cifar100"
)

// Formats lists the formats, as users name them.
var Formats = []string{string(CSV), string(TSV), string(LIBSVM), string(IDX), string(CIFAR10), string(CIFAR100)}

// Images tells whether the numbers of the format are bytes, 0 to 255.
func (f Format) Images() bool { return f == IDX || f == CIFAR10 || f == CIFAR100 }

// pkg is the package that reads the format, which errors begin with.
func (f Format) pkg() string {
	switch f {
	case TSV:
		return "csvio"
	case CIFAR10, CIFAR100:
		return "cifario"
	}
	return string(f) + "io"
}

// cifar is the record layout of a CIFAR format.
func (f Format) cifar() cifario.Layout {
	if f == CIFAR100 {
		return cifario.CIFAR100Fine
	}
	return cifario.CIFAR10
}

// Options says what to read and how.
type Options struct {
	Data       []string // patterns, as storage.List takes them
	LabelFiles []string // patterns of the files with the labels of IDX files, in the order of Data
	Format     string   // one of Formats; "" or "auto" looks at the content
	Header     string   // of CSV and TSV: "yes", "no"; "" or "auto" looks at the content
	Label      string   // of CSV and TSV: the label's column by name or 1-based position; "" for none
	Strict     bool     // what Dataset.Notes doubts is an error
	Dim        int      // of LIBSVM: the row length; 0 finds it in the data

	// Like is the schema that the data must fit: that of the model they are for.
	// CSV columns are found by their names where there are any. Label columns are
	// optional then.
	Like *Schema
}

// Validate refuses options that fit no data.
func (o Options) Validate() error {
	if f := o.Format; f != "" && f != "auto" && !slices.Contains(Formats, f) {
		return fmt.Errorf("dataset: unknown format %q; have auto, %s", f, strings.Join(Formats, ", "))
	}
	switch o.Header {
	case "", "auto", "yes", "no":
	default:
		return fmt.Errorf("dataset: header must be auto, yes or no (have %q)", o.Header)
	}
	if o.Dim < 0 || o.Dim > rows.MaxDim {
		return fmt.Errorf("dataset: dim must be between 0 and %d (have %d)", rows.MaxDim, o.Dim)
	}
	return nil
}

// Schema is what a model needs to know of its input to read other data alike.
type Schema struct {
	Format  Format   `json:"format"`
	Dim     int      `json:"dim"`               // row length
	Columns []string `json:"columns,omitempty"` // of CSV and TSV: the names of the row's fields
	// Image is the height and width of the rows' images, and the number of their
	// channels unless there is one, where the format tells.
	Image []int `json:"image,omitempty"`
	// Centre, unless it is nil, has for each column of a text format what is taken off its
	// numbers in float64 before they are rounded to float32; 0 for nothing.
	Centre []float64 `json:"centre,omitempty"`
	// CSV is the layout of the first file.
	CSV *csvio.Layout `json:"csv,omitempty"`
}

// Validate checks that a Schema, which may come from a damaged file, can be Like
// in Options.
func (s Schema) Validate() error {
	if !slices.Contains(Formats, string(s.Format)) {
		return fmt.Errorf("dataset: schema: unknown format %q", s.Format)
	}
	if s.Dim < 1 || s.Dim > rows.MaxDim {
		return fmt.Errorf("dataset: schema: rows of %d numbers, want 1 to %d", s.Dim, rows.MaxDim)
	}
	if n := len(s.Centre); n > 0 && n != s.Dim || slices.ContainsFunc(s.Centre, func(c float64) bool { return c-c != 0 }) {
		return fmt.Errorf("dataset: schema: centres of %d columns for rows of %d numbers, or not finite", n, s.Dim)
	}
	if s.CSV == nil {
		return nil
	}
	if n := len(s.CSV.Features); n != s.Dim {
		return fmt.Errorf("dataset: schema: %d columns for rows of %d numbers", n, s.Dim)
	}
	return s.CSV.Validate()
}

// Dataset is a list of files that were found to be alike.
type Dataset struct {
	Schema  Schema `json:"schema"`
	Files   []File `json:"files"`
	Labeled bool   `json:"labeled"` // rows have labels

	// Notes say what makes one doubt that the files are all of the data, and no more:
	// missing shards, links to one file, empty files, columns that some lack.
	Notes []string `json:"-"`
}

// File is one file of a Dataset, as it was when it was listed.
type File struct {
	storage.Object
	Compression string `json:"compression,omitempty"` // gzip, zstd, or empty

	Records     int64 `json:"records,omitempty"`      // of binary formats, where known
	RecordBytes int64 `json:"record_bytes,omitempty"` // of plain files of a binary format

	CSV    *csvio.Layout   `json:"csv,omitempty"`    // where it differs from the schema's
	Lead   int64           `json:"lead,omitempty"`   // of CSV with a header: bytes before it
	Labels *storage.Object `json:"labels,omitempty"` // the labels of an IDX file
	// LabelCompression is that of Labels.
	LabelCompression string `json:"label_compression,omitempty"`
}

// Compressed tells whether the file can only be read from its beginning.
func (f *File) Compressed() bool { return f.Compression != "" || f.LabelCompression != "" }

// Error says why a file cannot be used.
type Error struct {
	Format Format
	Name   string // of the file; with line and column behind it where one row is at fault
	Err    error
}

// Error returns package, file and cause, each once, whatever the packages that
// the cause came through have put before it.
func (e *Error) Error() string {
	pkg := "dataset"
	if e.Format != "" {
		pkg = e.Format.pkg()
	}
	return pkg + ": " + e.Name + ": " + bare(e.Err)
}

// bare returns the cause alone of the error of a reader: without the packages'
// names, and without the word for what "truncated?" says already.
func bare(err error) string {
	text := err.Error()
	for _, pkg := range []string{"csvio: ", "libsvmio: ", "idxio: ", "cifario: ", "first record: ", "lines: "} {
		text = strings.TrimPrefix(text, pkg)
	}
	return strings.TrimSuffix(text, ": unexpected EOF")
}

func (e *Error) Unwrap() error { return e.Err }

// Bytes returns about how many bytes reading the shard takes, for balance.
func (d *Dataset) Bytes(s Shard) int64 {
	f := &d.Files[s.File]
	switch {
	case s.End < 0:
		return f.Size
	case f.RecordBytes > 0:
		return (s.End - s.Start) * f.RecordBytes
	}
	return s.End - s.Start
}

// Size returns the bytes of all files.
func (d *Dataset) Size() (n int64) {
	for i := range d.Files {
		n += d.Files[i].Size
	}
	return n
}

// list returns the objects that the patterns match, in the order of the
// patterns. A file that two of them match is an error: its rows would count
// twice.
func list(ctx context.Context, flag string, patterns []string) ([]storage.Object, error) {
	var out []storage.Object
	seen := map[string]string{}
	for _, pattern := range patterns {
		objects, err := storage.List(ctx, pattern)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if first, twice := seen[o.URI]; twice {
				return nil, &Error{Name: o.Name, Err: fmt.Errorf("is matched by --%s %q and again by %q; its rows would count twice", flag, first, pattern)}
			}
			seen[o.URI] = pattern
			out = append(out, o)
		}
	}
	return out, nil
}

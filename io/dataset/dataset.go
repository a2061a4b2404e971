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
	"maps"
	"strings"

	"github.com/bochner-ml/bochner/io/storage"
)

// Options says what to read and how.
type Options struct {
	Data   []string // patterns, as storage.List takes them
	Format string   // name of a Format; "" or "auto" looks at the content
	Label  string   // of formats with columns: the label's by name or 1-based position; "" for none
	Strict bool     // what Dataset.Notes doubts is an error

	// Formats holds options of formats, at most one of each type: csvio.Options{Header:
	// csvio.Absent}. Those that data of another format cannot have are an error.
	Formats []FormatOptions

	// Like is the schema that the data must fit: that of the model they are for.
	// Columns are found by their names where there are any. Label columns are
	// optional then.
	Like *Schema
}

// Validate refuses options that fit no data.
func (o Options) Validate() error {
	if o.Format != "" && o.Format != "auto" {
		if _, err := lookup(o.Format); err != nil {
			return err
		}
	}
	for _, f := range o.Formats {
		if err := f.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Patterns returns the patterns of all files that the options name, by the option that
// names them.
func (o Options) Patterns() map[string][]string {
	all := map[string][]string{"data": o.Data}
	for _, f := range o.Formats {
		if f, ok := f.(interface{ Patterns() map[string][]string }); ok {
			maps.Copy(all, f.Patterns())
		}
	}
	return all
}

// Dataset is a list of files that were found to be alike.
type Dataset struct {
	Schema  Schema `json:"schema"`
	Files   []File `json:"files"`
	Labeled bool   `json:"labeled"` // rows have labels

	Fields []string `json:"-"` // names of the columns of the first file
	Label  string   `json:"-"` // and that of the label, where rows have them

	// Notes say what makes one doubt that the files are all of the data, and no more:
	// missing shards, links to one file, empty files, columns that some lack.
	Notes []string `json:"-"`
}

// File is one file of a Dataset, as it was when it was listed.
type File struct {
	storage.Object
	Compression string `json:"compression,omitempty"` // gzip, zstd, or empty

	Records     int64 `json:"records,omitempty"`      // of binary formats, where known
	RecordBytes int64 `json:"record_bytes,omitempty"` // of a file that is cut between records of one size

	Layout Layout          `json:"-"`                // where it differs from the schema's
	Lead   int64           `json:"lead,omitempty"`   // of text with a header: bytes before it
	Labels *storage.Object `json:"labels,omitempty"` // a file with the labels of this one
	// LabelCompression is that of Labels.
	LabelCompression string `json:"label_compression,omitempty"`
}

// Compressed tells whether the file can only be read from its beginning.
func (f *File) Compressed() bool { return f.Compression != "" || f.LabelCompression != "" }

// Error says why a file cannot be used.
type Error struct {
	Format string
	Name   string // of the file; with line and column behind it where one row is at fault
	Err    error
}

// Error returns package, file and cause, each once, whatever the packages that
// the cause came through have put before it.
func (e *Error) Error() string {
	pkg := "dataset"
	if f := registry[e.Format]; f != nil {
		pkg = f.pkg()
	}
	return pkg + ": " + e.Name + ": " + Cause(e.Err)
}

// Cause returns the cause alone of the error of a reader: without the packages'
// names, and without the word for what "truncated?" says already.
func Cause(err error) string {
	text := err.Error()
	for _, f := range Formats() {
		text = strings.TrimPrefix(text, f.pkg()+": ")
	}
	for _, part := range []string{"first record: ", "lines: "} {
		text = strings.TrimPrefix(text, part)
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

// List returns the objects that the patterns match, in the order of the
// patterns. A file that two of them match is an error: its rows would count
// twice. The error names the option that holds them.
func List(ctx context.Context, option string, patterns []string) ([]storage.Object, error) {
	var out []storage.Object
	seen := map[string]string{}
	for _, pattern := range patterns {
		objects, err := storage.List(ctx, pattern)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if first, twice := seen[o.URI]; twice {
				return nil, &Error{Name: o.Name, Err: fmt.Errorf("is matched by --%s %q and again by %q; its rows would count twice", option, first, pattern)}
			}
			seen[o.URI] = pattern
			out = append(out, o)
		}
	}
	return out, nil
}

package dataset

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"sort"
	"strings"

	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
)

// Options selects what to read and how.
type Options struct {
	// Files to read: names or patterns such as 'train-*.csv', or - for standard input, up to 1 GiB.
	// Can be given several times.
	Files []string `flag:"data,common" placeholder:"FILES"`
	// Objects, unless nil, are the files to read; Files is then ignored.
	Objects []storage.Object `json:"-"`
	// Format of the files: {values}; auto detects it from the content. Compression with gzip or zstd is detected.
	Format string `flag:"format" default:"auto" placeholder:"NAME"`
	As     string // name to show for a single file; "" shows its own
	// Refuse data that looks incomplete or duplicated: missing shards of a set such as
	// -00003-of-00010, several links to one file, empty files, columns that only some files have.
	// Without --strict these are notes.
	Strict bool `flag:"strict"`

	// Label column (CSV, TSV, JSON lines, Parquet, Avro), by name or position (1 is the first, -1 the
	// last). Several (separated by commas, or a pattern with *) are the targets of one regression.
	Label string `flag:"label,common" placeholder:"COLUMN"`
	Roles `group:"Columns of tables"`
	// Columns to use, by name, position or pattern such as 'x*', separated by commas, or @FILE with a
	// name on each line. The default is all columns except the label and the columns of --drop,
	// --weight_column, --id_column and --time_column.
	Columns []string `flag:"columns" group:"Columns of tables" list:"commas" placeholder:"COLUMNS"`
	// Columns to leave out, as for --columns (see --help_all).
	Drop   []string `flag:"drop,common" group:"Columns of tables" list:"commas" placeholder:"COLUMNS"`
	Ignore []string // name=value directories that are not columns unless another option names them

	Subset `json:"-"`

	// LabelText changes the text of labels; the zero value takes the changes of Like.
	LabelText LabelText `group:""`

	// Formats holds options of formats, at most one of each type, such as csvio.Options{Header:
	// csvio.Absent}. Options of a format that the data does not have are an error.
	Formats []FormatOptions `group:""`

	// Like, unless nil, is the schema of a model, which the data must fit. Columns with
	// names are matched by name. Label columns are then optional.
	Like *Schema
}

// Roles are the columns with other roles than features and labels.
type Roles struct {
	// Column with the weight of each row: a number ≥ 0. The default is the weight column of the model
	// or recipe, if it has one.
	Weight string `flag:"weight_column" placeholder:"COLUMN"`
	// Column that identifies each row, by name or position. It is not a feature and is copied to
	// predictions. The default is the id column of the model, if it has one.
	ID string `flag:"id_column" placeholder:"COLUMN"`
	// Column with the time of each row: dates, or numbers such as seconds. It is not a feature; train
	// --time_split holds out the latest rows, and evaluate --slices scores rows by its months. Dates
	// need no flag to become features: days, month, weekday and hour.
	Time     string      `flag:"time_column" placeholder:"COLUMN"`
	Group    []string    // columns that together name the group of a row; not features
	Fold     string      // column with the number of the row's fold, not a feature; "" for none
	Keys     schema.Role // of the columns from which row keys are made: GroupRole, foldRole or schema.When; "" for no keys
	Segments []string    // columns that name the segment of a row, such as country and source; may be features, too
}

// Subset chooses some of the rows.
type Subset struct {
	Only      *IDSelection // unless nil, by their id
	TestSplit *TestSplit   // unless nil, the rows for a test, or the others
}

// Validate returns an error for options that no data can fit.
func (o Options) Validate() error {
	if err := o.LabelText.validate(); err != nil {
		return err
	}
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

// Patterns returns the patterns of all files in the options, keyed by option name.
func (o Options) Patterns() map[string][]string {
	all := map[string][]string{"data": o.Files}
	for _, f := range o.Formats {
		if f, ok := f.(interface{ Patterns() map[string][]string }); ok {
			maps.Copy(all, f.Patterns())
		}
	}
	return all
}

// Dataset is a list of files that have the same format and columns.
type Dataset struct {
	Schema  Schema `json:"schema"`
	Files   []File `json:"files"`
	Labeled bool   `json:"labeled"` // rows have labels
	// Targets holds the names of the labels if rows have several.
	Targets []string `json:"targets,omitempty"`
	// Weighted is true if rows have weights, which readers then store in rowio.Block.Weights.
	Weighted bool `json:"weighted,omitempty"`
	// Key, unless nil, describes the keys of rows, which readers then store in rowio.Block.Keys.
	Key *schema.Key `json:"key,omitempty"`
	// Segments, unless nil, names the segments of the rows, which readers then store in rowio.Block.Segments.
	Segments *Segments `json:"segments,omitempty"`
	// Only, unless nil, restricts reading to rows with listed ids.
	Only *IDSelection `json:"only,omitempty"`
	// TestSplit, unless nil, restricts reading to the rows of a test, or to the others.
	TestSplit *TestSplit `json:"part,omitempty"`

	Fields []string `json:"-"` // names of the columns of the first file
	Label  string   `json:"-"` // name of the first label column, if rows have labels

	// Notes lists signs that files are missing or read twice: missing shards, links to one file,
	// empty files, columns that only some files have.
	Notes []string `json:"-"`
}

// File is one file of a Dataset, as it was when listed.
type File struct {
	storage.Object
	Compression string `json:"compression,omitempty"` // gzip, zstd, or empty

	Records     int64 `json:"records,omitempty"`      // number of records of a binary format, where known
	RecordBytes int64 `json:"record_bytes,omitempty"` // record size, for files that are cut between records

	// Cuts lists the places where a file of records can be cut, in ascending order, from its
	// first record to its end; empty for other files.
	Cuts []Cut `json:"cuts,omitempty"`

	// Memory is the approximate memory of a reader in bytes, without its block of rows; 0 if it is small.
	Memory int64 `json:"memory,omitempty"`

	Layout Layout          `json:"-"`                // layout, where it differs from the schema's
	Lead   int64           `json:"lead,omitempty"`   // for text with a header: bytes before it
	Labels *storage.Object `json:"labels,omitempty"` // file with the labels of this one
	// LabelCompression is the compression of Labels.
	LabelCompression string `json:"label_compression,omitempty"`
}

// Cut is a place between two records of a file.
type Cut struct {
	Record int64 `json:"record"` // records before it
	Byte   int64 `json:"byte"`   // approximate number of bytes before it
}

// bytesAt returns the approximate number of bytes before a record.
func (f *File) bytesAt(record int64) int64 {
	i := sort.Search(len(f.Cuts)-1, func(i int) bool { return f.Cuts[i].Record >= record })
	return f.Cuts[i].Byte
}

// Compressed reports whether the file can only be read from its beginning.
func (f *File) Compressed() bool { return f.Compression != "" || f.LabelCompression != "" }

// Error is the reason why a file cannot be used.
type Error struct {
	Format string
	Name   string // file name, followed by line and column if a single row is at fault
	Err    error
}

// Errorf returns an Error about the data as a whole, which names the first file.
func (d *Dataset) Errorf(format string, args ...any) error {
	return &Error{Format: d.Schema.Format, Name: d.Files[0].Name, Err: fmt.Errorf(format, args...)}
}

// Error returns package, file and cause. Errors of formats do not begin with the name of their package.
func (e *Error) Error() string {
	pkg := "dataset"
	if f := find(e.Format); f != nil {
		pkg = f.pkg()
	}
	// Readers do not know the name: the name replaces FILE where a reader advises a call such as numpy.load("FILE").
	return pkg + ": " + e.Name + ": " + strings.ReplaceAll(cause(e.Err), `("FILE`, `("`+e.Name)
}

// cause returns the text of an error of a format. It leaves out "unexpected EOF" after "truncated?".
func cause(err error) string { return strings.TrimSuffix(err.Error(), ": unexpected EOF") }

func (e *Error) Unwrap() error { return e.Err }

// Bytes returns the approximate number of bytes in a shard, for balancing.
func (d *Dataset) Bytes(s Shard) int64 {
	f := &d.Files[s.File]
	switch {
	case s.End < 0:
		return f.Size
	case len(f.Cuts) > 0:
		return f.bytesAt(s.End) - f.bytesAt(s.Start)
	case f.RecordBytes > 0:
		return (s.End - s.Start) * f.RecordBytes
	}
	return s.End - s.Start
}

// Size returns the total size of all files in bytes.
func (d *Dataset) Size() (n int64) {
	for i := range d.Files {
		n += d.Files[i].Size
	}
	return n
}

// Memory returns the approximate number of bytes that a reader needs in addition to a block of rows.
func (d *Dataset) Memory() (most int64) {
	for i := range d.Files {
		most = max(most, d.Files[i].Memory)
	}
	return most
}

// List returns the objects that the patterns match, in the order of the patterns. A
// file that matches two patterns is an error, because its rows would count twice.
func List(ctx context.Context, patterns []string) ([]storage.Object, error) {
	var out []storage.Object
	seen := map[string]string{}
	for _, pattern := range patterns {
		objects, err := storage.List(ctx, pattern)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if first, twice := seen[o.URI]; twice {
				return nil, &Error{Name: o.Name, Err: fmt.Errorf("matches both %q and %q; its rows would count twice",
					first, pattern)}
			}
			seen[o.URI] = pattern
			out = append(out, o)
		}
	}
	return out, nil
}

// EstimateRows returns the number of rows of the files: exact where headers or sizes
// give it, estimated from the length of the first lines for plain text, and 0 if
// unknown without reading. It reads the beginning of the largest file.
func (d *Dataset) EstimateRows(ctx context.Context) (rows int64, exact bool, err error) {
	exact, largest := true, 0
	for i := range d.Files {
		rows += d.Files[i].Records
		exact = exact && (d.Files[i].Records > 0 || d.Files[i].Size == 0)
		if d.Files[i].Size > d.Files[largest].Size {
			largest = i
		}
	}
	if exact {
		return rows, true, nil
	}
	if !d.Schema.Traits().Text {
		return 0, false, nil
	}
	f := &d.Files[largest]
	head, _, err := Peek(ctx, f.Object)
	if err != nil {
		return 0, false, err
	}
	lines := bytes.Count(head, []byte{'\n'})
	if lines == 0 || f.Compressed() {
		return 0, false, nil
	}
	perLine := float64(bytes.LastIndexByte(head, '\n')+1) / float64(lines)
	return int64(math.Round(float64(d.Size()) / perLine)), false, nil
}

package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/compress"
	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/storage"
)

// Format is a file format that a package registers: how a file is recognised, how the
// files of a Dataset are checked to agree, and how a shard is read.
//
// Text files can be cut at any line. Files of records are cut between any two records if Join
// stores their number and size in the File, otherwise at the Cuts that Join stores. Files of a
// format with Seeks set can be cut at any byte. Any other file is one shard.
type Format struct {
	Name    string   // name in options and models
	Aliases []string // other names for Name
	Package string   // begins the text of an Error; "" means Name followed by io
	Traits

	// Options returns a pointer to a new struct of the format's options: exported fields with the tag flag, and a doc
	// comment or the tag help. Zero values are defaults. Formats may share one type. It is nil for a format without
	// options.
	Options func() FormatOptions

	// Layout returns a pointer to an empty Layout, to be decoded from the JSON member LayoutKey
	// of a Schema. Both are zero if the format has no layout.
	Layout    func() Layout
	LayoutKey string

	// Sniff returns how likely a file that begins with head, of size bytes (−1 if it is compressed), has the format.
	Sniff func(head []byte, size int64) Likeness

	// Begin completes the Schema, Labeled and Label from the first file with content.
	Begin func(ctx context.Context, o *Opening, head []byte) error

	// Join completes file i from its beginning, which is empty or blank if the file has no content,
	// and returns an error if the file does not match the first one. Its result is passed to Agree.
	// It is called for several files concurrently and writes to its own file only. May be nil.
	Join func(ctx context.Context, o *Opening, i int, head []byte) (seen any, err error)

	// Agree completes the Dataset when all files have been seen. May be nil.
	Agree func(o *Opening, files []Seen) error

	// Read returns the rows of a shard.
	Read func(ctx context.Context, in *Input) (rowio.Reader, error)

	// Seeks means that a binary file can be cut at any byte. Read then finds the first record that begins
	// at or after the start of the shard, unless the shard is Exact, and returns a Seeker.
	Seeks bool

	// Range returns the range of bytes that Read opens first in a binary file, if Read
	// does not begin at the start of the file. May be nil.
	Range func(f *File, s Shard) (off, n int64)
}

// Seeker is the rowio.Reader of a format with Format.Seeks.
type Seeker interface {
	// Span returns, after io.EOF, where in the file the records of the shard begin and end.
	Span() (begin, end int64)
}

// Traits describe all data of a format.
type Traits struct {
	Text    bool // lines of text in UTF-8
	Written bool // every field is text, even a number
	Columns bool // columns have names or positions; Options.Label is one of them
	// Scale is the default scaling of the values: 255 divides bytes, none leaves the
	// values unchanged, "" standardises the columns of a table.
	Scale string
	// Exact means that values may have more digits than a float32 holds, so that readers
	// subtract Schema.Centre before they round.
	Exact bool
	// Faint means that the content hardly identifies the format. Data for a model of this
	// format is then assumed to have it too.
	Faint bool
	// Image returns how a row stores an image, if it does. May be nil.
	Image func(s *Schema) rowio.Image
	// LabelText means that a separate file of labels may be a text table, whose column Options.Label names.
	LabelText bool
	// Unlabeled is the advice for users who have not said where the labels are.
	Unlabeled string
}

// FormatOptions are the options of a format.
type FormatOptions interface {
	Validate() error
}

// Layout describes the records of a file for its format. It is plain data and part of a model.
type Layout interface {
	Validate() error
	RowLen() int // values per row
}

// Likeness is how likely it is that a file has a format. Open chooses the most likely
// format, and the first by name if several are equally likely.
type Likeness int

const (
	Unlike   Likeness = iota
	Fallback          // any text can have the format
	Possible          // nothing contradicts the format
	Likely            // the content has the regularity of the format
	Certain           // it begins with the magic bytes of the format
)

// If returns l if the condition is true, otherwise Unlike.
func (l Likeness) If(condition bool) Likeness {
	if condition {
		return l
	}
	return Unlike
}

// Seen is what Open has learned about one file.
type Seen struct {
	Blank bool // the file has no content
	What  any  // result of Join
}

var formats = option.NewRegistry[*Format]("format")

// Register adds a format. It panics if the name is taken.
func Register(f Format) { formats.Add(&f, nil, f.Name, f.Aliases...) }

// allFormats returns all formats, sorted by name. Package formats registers the formats of this module.
func allFormats() []*Format { return formats.All() }

// Names returns the names of all formats, sorted.
func Names() []string { return formats.Names() }

// lookup returns the format with the given name or alias.
func lookup(name string) (*Format, error) {
	have := Names()
	if len(have) == 0 {
		return nil, errors.New("dataset: no format is registered; import package io/formats or the package of a format")
	}
	f, err := formats.Lookup(name, append([]string{"auto"}, have...))
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	return f, nil
}

// find returns the format called name; nil if there is none.
func find(name string) *Format {
	f, _ := formats.Find(name)
	return f
}

// pkg returns the name of the package that reads the format; errors begin with it.
func (f *Format) pkg() string {
	if f.Package != "" {
		return f.Package
	}
	return f.Name + "io"
}

// NewOptions returns pointers to new options of all formats, one of each type.
func NewOptions() (all []FormatOptions) {
	known := map[reflect.Type]bool{}
	for _, f := range allFormats() {
		if f.Options == nil {
			continue
		}
		o := f.Options()
		if t := reflect.TypeOf(o); !known[t] {
			known[t] = true
			all = append(all, o)
		}
	}
	return all
}

// OptionsOf returns the options of type T in o, or the zero value.
func OptionsOf[T FormatOptions](o Options) (options T) {
	for _, f := range o.Formats {
		switch v := any(f).(type) {
		case T:
			options = v
		case *T:
			options = *v
		}
	}
	return options
}

// misplaced returns an error if an option of another format is set.
func (o Options) misplaced(f *Format) error {
	for _, given := range o.Formats {
		v := reflect.Indirect(reflect.ValueOf(given))
		if v.IsZero() || f.has(v.Type()) {
			continue
		}
		var owners []string
		for _, g := range allFormats() {
			if g.has(v.Type()) {
				owners = append(owners, g.Name)
			}
		}
		return fmt.Errorf("is %s; %s applies to %s only", f.Name, optionNames(v), strings.Join(owners, " and "))
	}
	return nil
}

// has reports whether the options of the format have that type.
func (f *Format) has(t reflect.Type) bool {
	return f.Options != nil && reflect.TypeOf(f.Options()).Elem() == t
}

// optionNames lists the set options of a struct.
func optionNames(v reflect.Value) string {
	var names []string
	for i := range v.NumField() {
		if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("flag"), ","); name != "" && !v.Field(i).IsZero() {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Opening is a Dataset that Open is still completing. The functions of its Format get it.
type Opening struct {
	Data    *Dataset
	Options Options
	First   int      // index of the first file with content
	Path    []string // names of columns whose values are in the paths of the files
}

// FileError returns an error for file i.
func (o *Opening) FileError(i int, err error) error {
	return &Error{o.Data.Schema.Format, o.Data.Files[i].Name, err}
}

// Input is a shard for a format to read. Its files stay open until the Reader of the shard is closed.
type Input struct {
	Data   *Dataset
	File   *File
	Shard  Shard
	Labels bool // labels are wanted
	IDs    bool // identifiers are wanted
	Tabs   bool // tabs separate fields, so they are not removed as spaces are

	request Request
	source  *Source // nil if no file was opened ahead
	*opened
}

// Layout returns the layout of the file, or nil if the format has none.
func (in *Input) Layout() Layout {
	if in.File.Layout != nil {
		return in.File.Layout
	}
	return in.Data.Schema.Layout
}

// Lines opens a shard of text.
func (in *Input) Lines(ctx context.Context) (*lines.Reader, error) {
	return in.lines(ctx, lines.Options{})
}

// QuotedLines opens a shard of text whose quoted fields, which comma separates, may hold newlines.
func (in *Input) QuotedLines(ctx context.Context, comma byte) (*lines.Reader, error) {
	return in.lines(ctx, lines.Options{Comma: comma})
}

func (in *Input) lines(ctx context.Context, o lines.Options) (*lines.Reader, error) {
	r, _, err := in.Records(ctx)
	if err != nil {
		return nil, err
	}
	s := in.Shard
	if s.End == 0 { // an empty shard; for package lines it would be the whole file
		r = strings.NewReader("")
	}
	o.Start, o.End, o.Skip = s.Start, max(s.End, 0), !s.Exact
	in.text = lines.New(r, o)
	return in.text, nil
}

// Records opens the records of a shard at the position from Format.Range, or the whole
// file if it is not cut. It also returns the number of records, −1 if unknown.
func (in *Input) Records(ctx context.Context) (r io.Reader, count int64, err error) {
	count = in.Shard.End - in.Shard.Start
	if in.Shard.End < 0 {
		count = -1
	}
	off, n := in.Data.opening(in.File, in.Shard)
	r, err = in.Open(ctx, in.File.Object, in.File.Compression, off, n)
	return r, count, err
}

// Open opens n bytes of a file from an offset, to its end if n is negative. A
// compressed file is opened whole and decompressed.
func (in *Input) Open(ctx context.Context, o storage.Object, compression string, off, n int64) (io.Reader, error) {
	if compression != "" {
		off, n = 0, -1
	}
	c, err := in.source.open(ctx, o, off, n)
	if err != nil {
		return nil, err
	}
	in.closers = append(in.closers, c)
	if compression == "" {
		return c, nil
	}
	z, _, err := compress.NewReader(c)
	if err != nil {
		return nil, err
	}
	in.closers = append(in.closers, z)
	return z, nil
}

// InMemory returns an Input without a file, for rows that a program has in memory. It uses the
// Schema, Targets and Weighted of d, which needs no Files.
func (d *Dataset) InMemory(q Request) *Input {
	return &Input{Data: d, Labels: q.Label != nil, IDs: q.IDs, request: q, opened: new(opened)}
}

// Rows returns a Reader of the rows of a source, for an Input from InMemory. It treats labels, weights and bad rows
// like the Reader of a file; the source gives the line numbers. Only one Reader of an Input may be in use at a time.
func (in *Input) Rows(source rowio.Reader) *Reader {
	return &Reader{Request: in.request, data: in.Data, opened: in.opened, rows: source}
}

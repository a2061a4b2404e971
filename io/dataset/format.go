package dataset

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/spell"
	"github.com/bochner-ml/bochner/io/rows"
)

// Format is a file format, as its package registers it: how a file is recognised, how the
// files of a Dataset are found to be alike, and how a shard is read.
//
// A file of text is cut at any line. A file of records, whose number and size Join
// stores in its File, is cut between records; without them a file is one shard.
type Format struct {
	Name    string   // as users name it, and models
	Aliases []string // are taken for Name
	Package string   // that errors begin with; "" is Name with io after it
	Traits

	// Options returns a pointer to a new struct of the format's options, for each an
	// exported field with the tags flag and help. Zero values are defaults. Formats may
	// share one type. It is nil for a format without options.
	Options func() FormatOptions

	// Layout returns a pointer to an empty Layout, to be read from the member LayoutKey
	// of a Schema; nil if the format has none.
	Layout    func() Layout
	LayoutKey string

	// Sniff tells whether a file that begins with head, of size bytes (−1 if it is
	// compressed), is of the format.
	Sniff func(head []byte, size int64) Likeness

	// Begin completes the Schema, Labeled and Label by the first file with content.
	Begin func(ctx context.Context, o *Opening, head []byte) error

	// Join completes file i by its beginning, which is empty or blank where it has no
	// content, and returns an error if it does not go with the first one. What it has
	// seen, and does not store, it returns for Agree. It is called for several files at
	// the same time and stores in its own only. May be nil.
	Join func(ctx context.Context, o *Opening, i int, head []byte) (seen any, err error)

	// Agree completes the Dataset when all files have been seen. May be nil.
	Agree func(o *Opening, files []Seen) error

	// Read returns the rows of a shard.
	Read func(ctx context.Context, in *Input) (rows.Reader, error)

	// Range returns which bytes of a file that is not text Read asks for first, where
	// those are not the file from its beginning. May be nil.
	Range func(f *File, s Shard) (off, n int64)
}

// Traits say what is known of all data of a format.
type Traits struct {
	Text    bool // lines of text in UTF-8
	Columns bool // columns have names or positions, by which Options.Label names the label
	// Scale is the scaling that suits the numbers unless they are columns of a table:
	// 255 to divide bytes by, none to leave them. "" standardises columns.
	Scale string
	// Exact says that numbers may have more digits than float32, and that readers take
	// off Schema.Centre before they round.
	Exact bool
	// Faint says that content hardly tells the format: data for a model are taken to
	// be of the model's format if that is one.
	Faint bool
	// Image returns how a row holds an image, if it holds one. May be nil.
	Image func(s *Schema) Image
	// Unlabeled says where the labels of such data are, for who has not named them.
	Unlabeled string
}

// Image is the shape of images. Without a height there are none.
type Image struct {
	Height, Width, Channels int
	Planar                  bool // one channel after the other, else pixel by pixel
}

// FormatOptions are the options of a format.
type FormatOptions interface {
	Validate() error
}

// Layout is what a format needs to know of the records of a file. It is plain data, part
// of a model.
type Layout interface {
	Validate() error
	RowLen() int // numbers of a row
}

// Likeness says how surely a file is of a format. The format with the greatest has it;
// of several, that whose name comes first.
type Likeness int

const (
	Unlike   Likeness = iota
	Fallback          // any text may be
	Possible          // nothing speaks against it
	Likely            // its content is regular in the way of the format
	Certain           // it begins with the mark of the format
)

// If returns l, or Unlike if is does not hold.
func (l Likeness) If(is bool) Likeness {
	if is {
		return l
	}
	return Unlike
}

// Seen is what was seen of a file.
type Seen struct {
	Blank bool // it has no content
	What  any  // that Join returned
}

var registry = map[string]*Format{} // by names and aliases

// Register makes a format known. It panics if another one has the name.
func Register(f Format) {
	for _, name := range append([]string{f.Name}, f.Aliases...) {
		if registry[name] != nil {
			panic("dataset: format " + name + " is registered twice")
		}
		registry[name] = &f
	}
}

// Formats returns all formats by their names. Those of this module are registered by
// package formats.
func Formats() []*Format {
	var all []*Format
	for _, name := range slices.Sorted(maps.Keys(registry)) {
		if f := registry[name]; f.Name == name {
			all = append(all, f)
		}
	}
	return all
}

// Names returns the names of all formats.
func Names() (names []string) {
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return names
}

// lookup returns the format of that name or alias.
func lookup(name string) (*Format, error) {
	if f := registry[name]; f != nil {
		return f, nil
	}
	if len(registry) == 0 {
		return nil, fmt.Errorf("dataset: no format is registered; import package io/formats, or that of a format")
	}
	hint := ""
	if near := spell.Nearest(name, slices.Collect(maps.Keys(registry))); near != "" {
		hint = fmt.Sprintf(" (did you mean %s?)", near)
	}
	return nil, fmt.Errorf("dataset: unknown format %q%s; have auto, %s", name, hint, strings.Join(Names(), ", "))
}

// pkg is the package that reads the format, which errors begin with.
func (f *Format) pkg() string {
	if f.Package != "" {
		return f.Package
	}
	return f.Name + "io"
}

// NewOptions returns pointers to new options of all formats, each type once.
func NewOptions() (all []FormatOptions) {
	known := map[reflect.Type]bool{}
	for _, f := range Formats() {
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

// OptionsOf returns those options in o that are of the type T, or else its zero value.
func OptionsOf[T FormatOptions](o Options) (of T) {
	for _, f := range o.Formats {
		switch v := any(f).(type) {
		case T:
			of = v
		case *T:
			of = *v
		}
	}
	return of
}

// misplaced returns an error if options are set that the format does not have.
func (o Options) misplaced(f *Format) error {
	for _, given := range o.Formats {
		v := reflect.Indirect(reflect.ValueOf(given))
		if v.IsZero() || f.has(v.Type()) {
			continue
		}
		var owners []string
		for _, g := range Formats() {
			if g.has(v.Type()) {
				owners = append(owners, g.Name)
			}
		}
		return fmt.Errorf("is %s; %s goes with %s only", f.Name, optionNames(v), strings.Join(owners, " and "))
	}
	return nil
}

// has tells whether the options of the format are of that type.
func (f *Format) has(t reflect.Type) bool {
	return f.Options != nil && reflect.TypeOf(f.Options()).Elem() == t
}

// optionNames lists the options of a struct that are set.
func optionNames(v reflect.Value) string {
	var names []string
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("flag"); name != "" && !v.Field(i).IsZero() {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Opening is a Dataset that is being opened, for the functions of its format.
type Opening struct {
	Data    *Dataset
	Options Options
	First   int // the first file that has content
}

// Error returns the error that file i cannot be used.
func (o *Opening) Error(i int, err error) error {
	return &Error{o.Data.Schema.Format, o.Data.Files[i].Name, err}
}

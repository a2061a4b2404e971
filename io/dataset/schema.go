package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
)

// Schema is what a model stores about its training data, so that other data is read in the same way.
type Schema struct {
	Format  string   `json:"format"`
	Dim     int      `json:"dim"`               // row length
	Columns []string `json:"columns,omitempty"` // names of the values of a row, if they have names
	// Image holds the height and width of the images in the rows, and the number of
	// channels unless it is one. It is empty if the file does not state them.
	Image []int `json:"image,omitempty"`
	// Centre, unless nil, holds a number for each column of a format with Traits.Exact.
	// Readers subtract it in float64, before they round to float32.
	Centre []float64 `json:"centre,omitempty"`
	// Table describes how the fields of a format with columns become the values of a row. It
	// is nil if all fields are numbers and none is missing.
	Table *schema.Table `json:"table,omitempty"`
	// LabelText describes changes to the text of labels; nil if there are none.
	LabelText *LabelText `json:"label_text,omitempty"`
	// Numbers are the rules by which labels and weights are written as numbers in formats with
	// Traits.Written. Nil means a decimal point and no separator of thousands.
	Numbers *schema.Rules `json:"numbers,omitempty"`
	// Layout is the layout of the first file. Its JSON member has the name Format.LayoutKey.
	Layout Layout `json:"-"`
}

// SchemaOf returns the valid schema in the input options of a model or a recipe.
func SchemaOf(options json.RawMessage) (*Schema, error) {
	s := new(Schema)
	err := json.Unmarshal(options, s)
	if err == nil {
		err = s.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("input options: %w", err)
	}
	return s, nil
}

// Traits returns the traits of the format.
func (s *Schema) Traits() Traits {
	if f := find(s.Format); f != nil {
		return f.Traits
	}
	return Traits{}
}

// Shape returns the shape of the images in the rows; its height is 0 if the rows are not known to be images.
func (s *Schema) Shape() (m rowio.Image) {
	if image := s.Traits().Image; image != nil {
		m = image(s)
	}
	return m
}

// SetTable sets the table of a format with columns, the row length and the names of the values.
func (s *Schema) SetTable(t *schema.Table) {
	s.Table, s.Dim, s.Columns = t, t.Width(), t.Names()
}

// Validate checks that a Schema, which may come from a damaged file, can be used as Options.Like.
func (s Schema) Validate() error {
	if _, err := lookup(s.Format); err != nil {
		return fmt.Errorf("dataset: schema: %s", cause(err))
	}
	if s.Dim < 1 || s.Dim > rowio.MaxDim {
		return fmt.Errorf("dataset: schema: the row length must be 1 to %d (have %d)", rowio.MaxDim, s.Dim)
	}
	if n := len(s.Centre); n > 0 && n != s.Dim || !exact.AllFinite(s.Centre) {
		return fmt.Errorf("dataset: schema: centres of %d columns for rows of %d values, or not finite", n, s.Dim)
	}
	width := s.Dim
	if s.Table != nil {
		if err := s.Table.Validate(); err != nil {
			return fmt.Errorf("dataset: %w", err)
		}
		if n := s.Table.Width(); n != s.Dim {
			return fmt.Errorf("dataset: schema: columns of %d values for rows of %d values", n, s.Dim)
		}
		width = len(s.Table.Columns)
	}
	if err := s.LabelText.validate(); err != nil {
		return err
	}
	if s.Numbers != nil {
		if err := s.Numbers.Validate(); err != nil {
			return fmt.Errorf("dataset: %w", err)
		}
	}
	if s.Layout == nil {
		return nil
	}
	if n := s.Layout.RowLen(); n != width {
		return fmt.Errorf("dataset: schema: layout of %d columns, want %d", n, width)
	}
	return s.Layout.Validate()
}

// plainSchema has the members common to all formats.
type plainSchema Schema

// MarshalJSON writes the layout as the last member.
func (s Schema) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(plainSchema(s))
	if err != nil || s.Layout == nil {
		return text, err
	}
	f, err := lookup(s.Format)
	if err != nil {
		return nil, err
	}
	layout, err := json.Marshal(map[string]Layout{f.LayoutKey: s.Layout})
	if err != nil {
		return nil, err
	}
	text[len(text)-1] = ','
	return append(text, layout[1:]...), nil
}

// UnmarshalJSON skips the layout of a format that is not registered.
func (s *Schema) UnmarshalJSON(data []byte) (err error) {
	if err := json.Unmarshal(data, (*plainSchema)(s)); err != nil {
		return err
	}
	f := find(s.Format)
	if f == nil || f.Layout == nil {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	s.Layout, err = readLayout(f, members[f.LayoutKey])
	return err
}

// readLayout returns nil if there is no layout.
func readLayout(f *Format, data json.RawMessage) (Layout, error) {
	if data == nil || string(data) == "null" {
		return nil, nil
	}
	l := f.Layout()
	return l, json.Unmarshal(data, l)
}

type plainDataset Dataset

// saved is a Dataset in JSON.
type saved struct {
	*plainDataset
	Files []savedFile `json:"files"`
}

type savedFile struct {
	File
	Layout json.RawMessage `json:"layout,omitempty"`
}

// MarshalJSON also writes the layouts of files.
func (d Dataset) MarshalJSON() (text []byte, err error) {
	s := saved{(*plainDataset)(&d), make([]savedFile, len(d.Files))}
	for i, f := range d.Files {
		s.Files[i].File = f
		if f.Layout != nil {
			if s.Files[i].Layout, err = json.Marshal(f.Layout); err != nil {
				return nil, err
			}
		}
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads the layouts of files with the format's type.
func (d *Dataset) UnmarshalJSON(data []byte) error {
	s := saved{plainDataset: (*plainDataset)(d)}
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	d.Files = make([]File, len(s.Files))
	for i, f := range s.Files {
		d.Files[i] = f.File
		if f.Layout == nil {
			continue
		}
		format, err := lookup(d.Schema.Format)
		if err != nil {
			return err
		}
		if d.Files[i].Layout, err = readLayout(format, f.Layout); err != nil {
			return err
		}
	}
	return nil
}

// LabelText describes changes to the text of labels before they become classes or
// numbers. The zero value changes nothing.
type LabelText struct {
	// Characters to remove from both ends of labels, such as '.' or ' .'. The model stores them and
	// later reads labels in the same way.
	Strip string `json:"strip,omitempty" flag:"label_strip" placeholder:"CHARACTERS"`
	// Case of labels: keep, or lower, which compares labels and classes in lower case.
	Lower bool `json:"lower,omitempty" flag:"label_case" values:"keep,lower"` // after Strip
}

// clean returns the changed text of a label. It may share the memory of label, which it
// does not modify. A nil *LabelText changes nothing.
func (t *LabelText) clean(label []byte) []byte {
	if t == nil || label == nil {
		return label
	}
	if t.Strip != "" {
		label = bytes.Trim(label, t.Strip)
		if label == nil {
			label = []byte{} // an empty label; nil means a missing one
		}
	}
	if t.Lower {
		label = bytes.ToLower(label)
	}
	return label
}

func (t *LabelText) validate() error {
	if t != nil && !utf8.ValidString(t.Strip) {
		return errors.New("dataset: schema: the characters that are removed from labels are not UTF-8")
	}
	return nil
}

// labelText returns the changes that the options ask for, or the changes of the model in Like if they ask for none.
func (o *Options) labelText() *LabelText {
	switch {
	case o.LabelText != (LabelText{}):
		return &o.LabelText
	case o.Like != nil:
		return o.Like.LabelText
	}
	return nil
}

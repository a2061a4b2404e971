package dataset

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/rows"
)

// Schema is what a model needs to know of its input to read other data alike.
type Schema struct {
	Format  string   `json:"format"`
	Dim     int      `json:"dim"`               // row length
	Columns []string `json:"columns,omitempty"` // names of the numbers of a row, where there are any
	// Image is the height and width of the rows' images, and the number of their
	// channels unless there is one, where the file tells.
	Image []int `json:"image,omitempty"`
	// Centre, unless it is nil, has for each column of an exact format what is taken off
	// its numbers in float64 before they are rounded to float32; 0 for nothing.
	Centre []float64 `json:"centre,omitempty"`
	// Layout is that of the first file, in JSON a member of the format's name for it.
	Layout Layout `json:"-"`
}

// Traits are those of the format.
func (s *Schema) Traits() Traits {
	if f := registry[s.Format]; f != nil {
		return f.Traits
	}
	return Traits{}
}

// Validate checks that a Schema, which may come from a damaged file, can be Like
// in Options.
func (s Schema) Validate() error {
	if _, err := lookup(s.Format); err != nil {
		return fmt.Errorf("dataset: schema: %s", Cause(err))
	}
	if s.Dim < 1 || s.Dim > rows.MaxDim {
		return fmt.Errorf("dataset: schema: rows of %d numbers, want 1 to %d", s.Dim, rows.MaxDim)
	}
	if n := len(s.Centre); n > 0 && n != s.Dim || slices.ContainsFunc(s.Centre, func(c float64) bool { return c-c != 0 }) {
		return fmt.Errorf("dataset: schema: centres of %d columns for rows of %d numbers, or not finite", n, s.Dim)
	}
	if s.Layout == nil {
		return nil
	}
	if n := s.Layout.RowLen(); n != s.Dim {
		return fmt.Errorf("dataset: schema: %d columns for rows of %d numbers", n, s.Dim)
	}
	return s.Layout.Validate()
}

// plainSchema has the members that every format has.
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

// UnmarshalJSON leaves the layout of a format that is not registered.
func (s *Schema) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*plainSchema)(s)); err != nil {
		return err
	}
	f := registry[s.Format]
	if f == nil || f.Layout == nil {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	var err error
	s.Layout, err = readLayout(f, members[f.LayoutKey])
	return err
}

// readLayout returns nil where there is none.
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

// MarshalJSON writes the layouts of files, too.
func (d Dataset) MarshalJSON() ([]byte, error) {
	s := saved{(*plainDataset)(&d), make([]savedFile, len(d.Files))}
	for i, f := range d.Files {
		s.Files[i].File = f
		if f.Layout != nil {
			var err error
			if s.Files[i].Layout, err = json.Marshal(f.Layout); err != nil {
				return nil, err
			}
		}
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads the layouts of files as those of the format.
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

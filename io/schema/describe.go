package schema

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/rows"
)

// Role is what a column is for.
type Role string

const (
	Feature Role = "feature" // a value of the row
	Label   Role = "label"   // what is to be predicted; several are possible
	Weight  Role = "weight"  // the weight of the row
	ID      Role = "id"      // identifies the row; copied to predictions
	Ignore  Role = "ignore"  // not used
)

var roles = []Role{Feature, Label, Weight, ID, Ignore}

// Field describes a column of the files. A column that is not a feature may have no type.
type Field struct {
	Column
	Role    Role
	Summary *Summary // nil if the description does not come from data
}

// Description describes all columns of a table, in the order of the files. Columns are
// identified by their positions: names may be equal.
type Description struct {
	Fields []Field
	Rules
}

// Table returns the table of the features.
func (d *Description) Table() *Table {
	t := &Table{Missing: d.Missing, Decimal: d.Decimal, Thousands: d.Thousands}
	for _, f := range d.Fields {
		if f.Role == Feature {
			t.Columns = append(t.Columns, f.Column)
		}
	}
	return t
}

// With returns the positions of the columns that have a role.
func (d *Description) With(role Role) (columns []int) {
	for i, f := range d.Fields {
		if f.Role == role {
			columns = append(columns, i)
		}
	}
	return columns
}

// Plain reports whether the features are read as they are without a schema: as numbers, of
// which the data that was described had none missing.
func (d *Description) Plain() bool {
	return d.Table().Plain() && !slices.ContainsFunc(d.Fields, func(f Field) bool {
		return f.Role == Feature && f.Summary != nil && f.Summary.Missing > 0
	})
}

// Validate returns an error unless tables can be read as described.
func (d *Description) Validate() error {
	if len(d.Fields) > rows.MaxDim+1 {
		return fmt.Errorf("schema: %d columns; there may be at most %d", len(d.Fields), rows.MaxDim+1)
	}
	for i := range d.Fields {
		f := &d.Fields[i]
		if !slices.Contains(roles, f.Role) {
			return fmt.Errorf("schema: column %d (%.60q): unknown role %.40q; want one of feature, label, weight, id, ignore", i+1, f.Name, f.Role)
		}
		if err := f.complete(); err != nil {
			return fmt.Errorf("schema: column %d (%.60q): %w", i+1, f.Name, err)
		}
	}
	if err := d.roles(); err != nil {
		return err
	}
	return d.Table().Validate()
}

// roles returns an error if columns share a role that only one can have.
func (d *Description) roles() error {
	for _, role := range []Role{Weight, ID} {
		if at := d.With(role); len(at) > 1 {
			return fmt.Errorf("schema: columns %d and %d both have the role %s; only one can", at[0]+1, at[1]+1, role)
		}
	}
	return nil
}

// Open returns the columns that Complete must complete: categories without levels and
// buckets, and times without a layout.
func (d *Description) Open() (columns []int) {
	for i := range d.Fields {
		if f := &d.Fields[i]; f.Role == Feature &&
			(f.Type == Category && f.Buckets == 0 && len(f.Levels) == 0 || f.Type == Time && f.Layout == "") {
			columns = append(columns, i)
		}
	}
	return columns
}

// Complete finds levels and layouts in the data, as Infer does, where the description has
// none. at has for each column its column in the survey, or −1; maxLevels is as in Hints.
func (d *Description) Complete(s *Survey, at []int, maxLevels int) ([]Note, error) {
	in := inference{Hints: Hints{Types: map[int]Type{}, MaxLevels: maxLevels}, d: d}
	for _, i := range d.Open() {
		f := &d.Fields[i]
		if at[i] < 0 {
			return nil, fmt.Errorf("schema: column %d (%.60q) is not in the data", i+1, f.Name)
		}
		f.Summary = s.Column(at[i])
		in.Types[i] = f.Type
		if err := in.decideType(i); err != nil {
			return nil, err
		}
	}
	return in.notes, d.Validate()
}

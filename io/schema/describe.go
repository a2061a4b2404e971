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

// Field describes a column of the files.
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
		if err := f.validate(); err != nil {
			return fmt.Errorf("schema: column %d (%.60q): %w", i+1, f.Name, err)
		}
	}
	for _, role := range []Role{Weight, ID} {
		if at := d.With(role); len(at) > 1 {
			return fmt.Errorf("schema: columns %d and %d both have the role %s; only one can", at[0]+1, at[1]+1, role)
		}
	}
	return d.Table().Validate()
}

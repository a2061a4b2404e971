package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/rowio"
)

// Role is the purpose of a column.
type Role string

const (
	Feature Role = "feature" // a value of the row
	Label   Role = "label"   // what is to be predicted; several are possible
	Weight  Role = "weight"  // the weight of the row
	ID      Role = "id"      // identifies the row; copied to predictions
	When    Role = "time"    // the time of the row
	Ignore  Role = "ignore"  // not used
)

// roles are all roles.
var roles = []Role{Feature, Label, Weight, ID, When, Ignore}

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
	t := &Table{Rules: d.Rules}
	for _, f := range d.Fields {
		if f.Role == Feature {
			t.Columns = append(t.Columns, f.Column)
		}
	}
	return t
}

// Describe returns a description of the columns of the table, all of which are features.
func (t *Table) Describe() *Description {
	d := &Description{Rules: t.Rules}
	for _, c := range t.Columns {
		d.Fields = append(d.Fields, Field{Column: c, Role: Feature})
	}
	return d
}

// Slots returns the indices in a row of the first values of all columns of a type.
func (t *Table) Slots(kind Type) (slots []int) {
	at := 0
	for i := range t.Columns {
		if t.Columns[i].Type == kind {
			slots = append(slots, at)
		}
		at += t.Columns[i].Width()
	}
	return slots
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

// Plain reports whether the features can be read without a schema: as numbers, of which none was missing.
func (d *Description) Plain() bool {
	return d.Table().plain() && !slices.ContainsFunc(d.Fields, func(f Field) bool {
		return f.Role == Feature && f.Summary != nil && f.Summary.Missing > 0
	})
}

// check returns an error unless tables can be read as described once Complete has completed the open columns.
func (d *Description) check() error {
	if len(d.Fields) > rowio.MaxDim+1 {
		return fmt.Errorf("%d columns; there may be at most %d", len(d.Fields), rowio.MaxDim+1)
	}
	for i := range d.Fields {
		if err := d.Fields[i].check(); err != nil {
			return fmt.Errorf("column %d (%.60q): %w", i+1, d.Fields[i].Name, err)
		}
	}
	if len(d.With(Feature)) == 0 {
		return errors.New("no column has the role feature")
	}
	for _, role := range []Role{Weight, ID, When} {
		if at := d.With(role); len(at) > 1 {
			return fmt.Errorf("columns %d and %d both have the role %s; only one can", at[0]+1, at[1]+1, role)
		}
	}
	return d.Rules.check()
}

// check returns an error unless the column can be read as described. A column that Complete can complete is no error.
func (f *Field) check() error {
	switch {
	case !slices.Contains(roles, f.Role):
		return unknown("role", f.Role, roles)
	case f.Type == "" && f.Role == Feature:
		return errors.New("has no type; want number, boolean, category or time")
	case f.Type == "" && (len(f.Levels) > 0 || f.Buckets != 0 || f.Layout+f.Encode+f.Fill+f.Unit != ""):
		return errors.New("has no type, but levels, buckets, a layout, an encoding, a fill or a unit")
	case f.Role == When && f.Type != "" && f.Type != Number && f.Type != Time:
		return fmt.Errorf("is the time, so it cannot be a %s; want time or number", f.Type)
	case f.Type == "":
		return nil
	}
	c := f.Column
	if c.Type == Time {
		c.Layout = cmp.Or(c.Layout, TimeLayoutNames()[0])
	}
	if c.Fill == Median || c.Fill == Mean {
		c.Fill = ""
		if c.Type != Number {
			return fmt.Errorf("a %s has no fill; that is for numbers", c.Type)
		}
	}
	return c.validate()
}

// settle replaces Fill = Median by the median, and finds the unit and the zones, if a Summary is known.
func (f *Field) settle() {
	if f.Summary != nil && f.Type == Number && f.Unit == "" {
		f.Unit = f.Summary.unit()
	}
	if f.Summary != nil && f.Type == Time && f.Zone == "" {
		f.Zone = f.Summary.zone(f.Layout)
	}
	switch {
	case f.Fill == Mean, f.Fill == Median && (f.Summary == nil || f.Summary.Numbers == 0):
		f.Fill = ""
	case f.Fill == Median:
		f.Fill = string(AppendFloat(nil, f.Summary.Median))
	}
}

// Validate returns an error unless tables can be read as described.
func (d *Description) Validate() error {
	if err := d.check(); err != nil {
		return named(err)
	}
	return d.Table().Validate()
}

// open returns the positions of the columns that Complete must complete: categories without levels
// and buckets, times without a layout, and a column of the role When without a type.
func (d *Description) open() (columns []int) {
	for i := range d.Fields {
		switch f := &d.Fields[i]; {
		case f.Role == Feature && f.Type == Category && f.Buckets == 0 && len(f.Levels) == 0,
			(f.Role == Feature || f.Role == When) && f.Type == Time && f.Layout == "",
			f.Role == When && f.Type == "":
			columns = append(columns, i)
		}
	}
	return columns
}

// Complete takes the summaries of columns from a survey, and infers missing levels and layouts as
// Infer does. at holds, for each column, its column in the survey or −1. maxLevels is as in Hints.
func (d *Description) Complete(s *Survey, at []int, maxLevels int) ([]Note, error) {
	in := inference{Hints: Hints{Types: map[int]Type{}, MaxLevels: maxLevels}, d: d}
	for i, column := range at {
		d.Fields[i].Summary = nil
		if column >= 0 {
			d.Fields[i].Summary = s.column(column)
		}
	}
	for _, i := range d.open() {
		f := &d.Fields[i]
		if f.Summary == nil {
			return nil, fmt.Errorf("schema: column %d (%.60q) is not in the data", i+1, f.Name)
		}
		if f.Type != "" {
			in.Types[i] = f.Type
		}
		if err := in.decideType(i); err != nil {
			return nil, err
		}
	}
	for i := range d.Fields {
		d.Fields[i].settle()
	}
	return in.notes, d.Validate()
}

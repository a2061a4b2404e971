package dataset

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/csvio"
)

// agree has files whose headers differ yield the same rows: columns are found by
// their names. What the rows are does not depend on the order of the files:
//
//   - The columns of a row are those that all files have. One file at least must have
//     no others; else a file that lacks a column is at fault, not one that has more.
//   - They stand as in the file whose header comes first by its names.
//
// With a model, its columns are the row, and labels are read if all files have them.
func (d *Dataset) agree(o Options, first int, files []joined) error {
	base := d.Schema.CSV
	if !slices.ContainsFunc(files, func(j joined) bool { return j.columns != nil }) {
		return nil
	}
	schema := *base
	if o.Like == nil || o.Like.CSV == nil {
		if err := d.common(&schema, first, files); err != nil {
			return err
		}
	}
	layouts := make([]*csvio.Layout, len(files))
	for i := range files {
		columns := files[i].columns
		switch {
		case files[i].blank:
			continue
		case columns == nil:
			columns = base
		}
		if slices.Equal(columns.Columns, schema.Columns) {
			continue
		}
		file := *columns
		file.Label = -1 // it is that of the schema's name
		layout, err := schema.Match(file)
		if err == nil && schema.Label >= 0 && layout.Label < 0 {
			name := schema.Columns[schema.Label]
			if o.Like == nil {
				err = fmt.Errorf("column %q, the label, is missing", name)
			} else if d.Labeled {
				d.Labeled = false
				d.Notes = append(d.Notes, fmt.Sprintf("column %q, the label, is missing in %s: no labels are read", name, d.Files[i].Name))
			}
		}
		if err != nil {
			return d.differs(i, first, err)
		}
		layouts[i] = &layout
	}
	d.Schema.CSV, d.Schema.Dim, d.Schema.Columns = &schema, len(schema.Features), nil
	for _, f := range schema.Features {
		d.Schema.Columns = append(d.Schema.Columns, schema.Columns[f])
	}
	for i, l := range layouts {
		if l != nil {
			d.Files[i].CSV = l
		}
	}
	if !d.Labeled {
		d.forgetLabels()
	}
	return nil
}

// common reduces the schema to the columns that all files have.
func (d *Dataset) common(schema *csvio.Layout, first int, files []joined) error {
	base := *schema
	have := map[string]int{} // how many files have a column
	var different []*csvio.Layout
	with := 0
	for i := range files {
		if files[i].blank {
			continue
		}
		with++
		l := files[i].columns
		if l == nil {
			l = &base
		}
		for _, name := range l.Columns {
			have[name]++
		}
		if i == first || files[i].columns != nil {
			different = append(different, l)
		}
	}
	exact := func(l *csvio.Layout) bool {
		return !slices.ContainsFunc(l.Columns, func(name string) bool { return have[name] != with })
	}
	if !slices.ContainsFunc(different, exact) {
		return nil // so a file lacks a column of the first one, which Match tells of, or names a column twice
	}
	// The least of the orders in which the common columns stand.
	var order []string
	for _, l := range different {
		names := slices.DeleteFunc(slices.Clone(l.Columns), func(name string) bool { return have[name] != with })
		if order == nil || slices.Compare(names, order) < 0 {
			order = names
		}
	}
	label := ""
	if base.Label >= 0 {
		if label = base.Columns[base.Label]; have[label] != with {
			return nil // a file lacks the label
		}
	}
	*schema = csvio.Layout{Comma: base.Comma, Header: true, Columns: order, Label: -1}
	for f, name := range order {
		if base.Label >= 0 && name == label {
			schema.Label = f
		} else {
			schema.Features = append(schema.Features, f)
		}
	}
	if len(schema.Features) == 0 {
		*schema = base
		return nil
	}
	var extra []string
	for name, n := range have {
		if n != with {
			extra = append(extra, fmt.Sprintf("%q (in %d of %d)", name, n, with))
		}
	}
	if slices.Sort(extra); len(extra) > 0 {
		d.Notes = append(d.Notes, "columns that only some files have are not used: "+someOf(extra))
	}
	return nil
}

// forgetLabels has no file's labels read.
func (d *Dataset) forgetLabels() {
	without := func(l *csvio.Layout) *csvio.Layout {
		if l == nil || l.Label < 0 {
			return l
		}
		c := *l
		c.Label = -1
		return &c
	}
	d.Schema.CSV = without(d.Schema.CSV)
	for i := range d.Files {
		d.Files[i].CSV = without(d.Files[i].CSV)
	}
}

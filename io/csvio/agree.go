package csvio

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/dataset"
)

// agree makes files with different headers yield the same rows: columns are matched by
// name. The rows do not depend on the order of the files:
//
//   - The columns of a row are those that all files have. At least one file must have
//     no others; otherwise a file that lacks a column is reported, not one that has more.
//   - Their order is that of the file whose header sorts first by its names.
//
// With a model, the model's columns make the row, and labels are read if all files have them.
func agree(o *dataset.Opening, files []dataset.Seen) error {
	d := o.Data
	base := d.Schema.Layout.(*Layout)
	if !slices.ContainsFunc(files, func(f dataset.Seen) bool { return f.What != nil }) {
		return nil
	}
	schema := *base
	if likeOf(o) == nil {
		common(o, &schema, files)
	}
	layouts := make([]*Layout, len(files))
	for i := range files {
		if files[i].Blank {
			continue
		}
		columns := columnsOf(files[i], base)
		if slices.Equal(columns.Columns, schema.Columns) {
			continue
		}
		file := *columns
		file.Label = -1 // the label of the schema's name
		layout, err := schema.Match(file)
		if err == nil && schema.Label >= 0 && layout.Label < 0 {
			name := schema.Columns[schema.Label]
			if o.Options.Like == nil {
				err = fmt.Errorf("column %q, the label, is missing", name)
			} else if d.Labeled {
				d.Labeled = false
				d.Notes = append(d.Notes, fmt.Sprintf("column %q, the label, is missing in %s: labels are not read", name, d.Files[i].Name))
			}
		}
		if err != nil {
			return differs(o, i, err)
		}
		layouts[i] = &layout
	}
	d.Schema.Layout, d.Schema.Dim, d.Schema.Columns = &schema, len(schema.Features), nil
	for _, f := range schema.Features {
		d.Schema.Columns = append(d.Schema.Columns, schema.Columns[f])
	}
	for i, l := range layouts {
		if l != nil {
			d.Files[i].Layout = l
		}
	}
	if !d.Labeled {
		forgetLabels(d)
	}
	return nil
}

// columnsOf returns the columns of a file.
func columnsOf(f dataset.Seen, base *Layout) *Layout {
	if l, ok := f.What.(*Layout); ok {
		return l
	}
	return base
}

// common reduces the schema to the columns that all files have.
func common(o *dataset.Opening, schema *Layout, files []dataset.Seen) {
	base := *schema
	have := map[string]int{} // number of files that have a column
	var different []*Layout
	with := 0
	for i := range files {
		if files[i].Blank {
			continue
		}
		with++
		l := columnsOf(files[i], &base)
		for _, name := range l.Columns {
			have[name]++
		}
		if i == o.First || files[i].What != nil {
			different = append(different, l)
		}
	}
	exact := func(l *Layout) bool {
		return !slices.ContainsFunc(l.Columns, func(name string) bool { return have[name] != with })
	}
	if !slices.ContainsFunc(different, exact) {
		return // a file lacks a column of the first one, which Match reports, or names a column twice
	}
	// The smallest of the orders of the common columns.
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
			return // a file lacks the label
		}
	}
	*schema = Layout{Comma: base.Comma, Header: true, Columns: order, Label: -1}
	for f, name := range order {
		if base.Label >= 0 && name == label {
			schema.Label = f
		} else {
			schema.Features = append(schema.Features, f)
		}
	}
	if len(schema.Features) == 0 {
		*schema = base
		return
	}
	var extra []string
	for name, n := range have {
		if n != with {
			extra = append(extra, fmt.Sprintf("%q (in %d of %d)", name, n, with))
		}
	}
	if slices.Sort(extra); len(extra) > 0 {
		o.Data.Notes = append(o.Data.Notes, "columns that only some files have are ignored: "+dataset.SomeOf(extra))
	}
}

// forgetLabels turns off labels in all files.
func forgetLabels(d *dataset.Dataset) {
	without := func(l dataset.Layout) dataset.Layout {
		csv, ok := l.(*Layout)
		if !ok || csv.Label < 0 {
			return l
		}
		c := *csv
		c.Label = -1
		return &c
	}
	d.Schema.Layout = without(d.Schema.Layout)
	for i := range d.Files {
		d.Files[i].Layout = without(d.Files[i].Layout)
	}
}

package dataset

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/schema"
)

// BeginTable completes the schema from the layout of the first file with content. If the data is
// for a model, the layout is already matched with the model.
func BeginTable(o *Opening, layout Tabular) {
	d, t := o.Data, layout.Table()
	d.Schema.Layout, d.Schema.Dim = layout, len(t.Features)
	d.Fields, d.Labeled = t.Columns, t.Label >= 0
	if d.Labeled {
		d.Label = t.Columns[t.Label]
	}
	d.Targets = t.names(t.Targets)
	d.Weighted = t.Role(schema.Weight) >= 0
	if by := o.Options.Keys; by != "" {
		d.Key = (&schema.Key{By: by})
		if by == schema.When {
			d.Key.Layout = t.TimeLayout
		}
		for _, role := range roles {
			if f := t.Role(role); f >= 0 && (role == by || by == GroupRole && slices.Contains(groups, role)) {
				d.Key.Columns = append(d.Key.Columns, t.Columns[f])
			}
		}
	}
	if n := len(o.Options.Levels); n > 0 {
		d.Levels = new(Levels)
		for _, role := range levels[:n] {
			d.Levels.Columns = append(d.Levels.Columns, t.Columns[t.Role(role)])
		}
	}
	if layout.Named() {
		d.Schema.Columns = t.Names()
	}
}

// FirstLayout returns the layout of the first file with content, whose columns have names: as
// the options choose it, or matched with the model that the data is for.
func FirstLayout(o *Opening, columns []string) (TableLayout, error) {
	SetPath(o)
	choice, like := ChoiceOf(o.Options), SameLayout(o)
	choice.Path = o.Path
	if like == nil {
		return choice.Layout(columns)
	}
	layout, err := choice.WithoutFeatures().Layout(columns)
	if err != nil {
		return layout, err
	}
	return Match(like, &layout)
}

// SameLayout returns the layout of the model that the data is for; nil if there is none, or its
// format has no columns.
func SameLayout(o *Opening) Tabular {
	if o.Options.Like == nil {
		return nil
	}
	l, _ := o.Options.Like.Layout.(Tabular)
	return l
}

// JoinColumns compares the columns of another file, which have names, with the columns of the first file. It reports
// whether they differ, and returns an error if a position in the options means different columns in the two files.
func JoinColumns(o *Opening, columns []string) (differ bool, err error) {
	first := o.Data.Schema.Layout.(Tabular).Table().Stored()
	if slices.Equal(columns, first) {
		return false, nil
	}
	return true, ChoiceOf(o.Options).samePlaces(first, columns)
}

// DiffersError returns an error for file i, whose columns do not match the first file's.
func DiffersError(o *Opening, i int, err error) error {
	return o.FileError(i, fmt.Errorf("its columns do not match %s: %s", o.Data.Files[o.First].Name, cause(err)))
}

// AgreeColumns makes files with different columns yield the same rows. The columns have names,
// by which they are matched. Seen.What is the layout of a file, a Tabular, or nil if the file has
// the columns of the first one. The rows do not depend on the order of the files:
//
//   - The columns of a row are those that all files have. At least one file must have
//     only these; otherwise the error names a file that lacks a column, not one that has more.
//   - They are in the order of the file whose names sort first.
//
// If the data is for a model, rows have the columns of the model, and labels are read if all files have them.
func AgreeColumns(o *Opening, files []Seen) error {
	d := o.Data
	base := d.Schema.Layout.(Tabular)
	if !slices.ContainsFunc(files, func(f Seen) bool { return f.What != nil }) {
		return nil
	}
	common := *base.Table()
	if SameLayout(o) == nil {
		keepCommon(o, &common, files)
	}
	layouts := make([]Layout, len(files))
	for i := range files {
		if files[i].Blank {
			continue
		}
		tabular := layoutOf(files[i], base)
		if slices.Equal(tabular.Table().Columns, common.Columns) && tabular.Table().Path == common.Path {
			continue
		}
		// the same columns, in the order of this file
		layout, err := Match(&common, &TableLayout{Columns: tabular.Table().Columns, Path: tabular.Table().Path,
			Label: -1})
		if err == nil {
			err = checkRoles(o, i, &common, &layout)
		}
		if err != nil {
			return DiffersError(o, i, err)
		}
		layouts[i] = tabular.With(layout)
	}
	d.Schema.Layout, d.Schema.Dim, d.Schema.Columns = base.With(common), len(common.Features), common.Names()
	for i, l := range layouts {
		if l != nil {
			d.Files[i].Layout = l
		}
	}
	forgetUnread(d, &common)
	return nil
}

// checkRoles checks that file i has the label and the roles of the common columns. They are required,
// unless the data is for a model: then a role that one file lacks is read from no file.
func checkRoles(o *Opening, i int, common, layout *TableLayout) error {
	d := o.Data
	lacks := func(f int, role schema.Role) error {
		if o.Options.Like == nil || slices.Contains(levels, role) {
			return fmt.Errorf("column %q, the %s, is missing", common.Columns[f], role)
		}
		d.Notes = append(d.Notes, fmt.Sprintf("column %q, the %s, is missing in %s: %ss are not read", common.Columns[f],
			role, d.Files[i].Name, role))
		return nil
	}
	if common.Label >= 0 && layout.Label < 0 && d.Labeled {
		missing := slices.IndexFunc(common.Labels(), func(f int) bool {
			return !slices.Contains(layout.Columns, common.Columns[f])
		})
		if err := lacks(common.Labels()[max(missing, 0)], schema.Label); err != nil {
			return err
		}
		d.Labeled = false
	}
	for _, role := range roles {
		if f := common.Role(role); f >= 0 && layout.Role(role) < 0 {
			if keyed := role == foldRole || slices.Contains(groups, role); !keyed || d.Key != nil || o.Options.Like == nil {
				if err := lacks(f, role); err != nil {
					return err
				}
			}
			*common = common.without(role)
			d.Weighted = d.Weighted && role != schema.Weight
		}
	}
	return nil
}

// layoutOf returns the layout of a file, which is base unless Seen.What says otherwise.
func layoutOf(f Seen, base Tabular) Tabular {
	if l, ok := f.What.(Tabular); ok {
		return l
	}
	return base
}

// keepCommon reduces the columns of the first file to those that all files have.
func keepCommon(o *Opening, common *TableLayout, files []Seen) {
	base := o.Data.Schema.Layout.(Tabular)
	have := map[string]int{} // number of files that have a column
	var different [][]string
	with := 0
	for i := range files {
		if files[i].Blank {
			continue
		}
		with++
		columns := layoutOf(files[i], base).Table().Columns
		for _, name := range columns {
			have[name]++
		}
		if i == o.First || files[i].What != nil {
			different = append(different, columns)
		}
	}
	differs := func(name string) bool { return have[name] != with }
	if !slices.ContainsFunc(different, func(columns []string) bool { return !slices.ContainsFunc(columns, differs) }) {
		return // a file lacks a column of the first one, or names a column twice; Match reports that
	}
	// Of the orders in which files have the common columns, take the smallest.
	var order []string
	for _, columns := range different {
		names := slices.DeleteFunc(slices.Clone(columns), differs)
		if order == nil || slices.Compare(names, order) < 0 {
			order = names
		}
	}
	if reduced, ok := common.keep(order); ok {
		*common = reduced
	} else {
		return // Match reports what is missing
	}
	var extra []string
	for name, n := range have {
		if n != with {
			extra = append(extra, fmt.Sprintf("%q (in %d of %d)", name, n, with))
		}
	}
	slices.Sort(extra)
	if len(extra) > 0 {
		o.Data.Notes = append(o.Data.Notes, "columns that only some files have are ignored: "+schema.Some(extra, ", "))
	}
}

// keep returns the layout with only the columns in order, each of which it has once. It is
// not ok if the label, a column with a role or all features are missing.
func (l *TableLayout) keep(order []string) (TableLayout, bool) {
	k := TableLayout{Columns: order}
	labels := make([]int, len(l.Labels()))
	labelsKept := 0
	at := make(map[string]int, len(l.Columns))
	for f, name := range l.Columns {
		at[name] = f
	}
	feature := make([]bool, len(l.Columns))
	for _, f := range l.Features {
		feature[f] = true
	}
	for f, name := range order {
		switch old := at[name]; {
		case l.isLabel(old):
			labels[slices.Index(l.Labels(), old)] = f
			labelsKept++
		case feature[old]:
			k.Features = append(k.Features, f)
		default:
			for role, r := range l.Roles {
				if r == old {
					if k.Roles == nil {
						k.Roles = make(map[schema.Role]int)
					}
					k.Roles[role] = f
				}
			}
		}
	}
	k.setLabels(labels)
	return k, len(k.Features) > 0 && labelsKept == len(labels) && len(k.Roles) == len(l.Roles)
}

// forgetUnread removes labels that are not read from every file, and roles that the common
// columns do not have, from the layouts of all files.
func forgetUnread(d *Dataset, common *TableLayout) {
	changeLayouts(d, func(t *TableLayout) {
		if !d.Labeled {
			*t = t.Unlabeled()
		}
		for _, role := range roles {
			if common.Role(role) < 0 {
				*t = t.without(role)
			}
		}
	})
}

// BeginStored completes the schema from the names of the columns of the first file with content,
// for formats in which files store the names and the types of their columns.
func BeginStored(o *Opening, names []string) error {
	layout, err := TableLayout{}, checkCount(names)
	if err == nil {
		layout, err = FirstLayout(o, names)
	}
	if err != nil {
		return o.FileError(o.First, err)
	}
	BeginTable(o, &layout)
	return nil
}

// JoinStored compares the columns that file i stores with the first file's. It returns the
// Seen.What for AgreeColumns: a layout with the columns of the file, or nil if they do not differ.
// It is an error if a used column cannot be read; unreadable returns the reason, or nil.
func JoinStored(o *Opening, i int, names []string, unreadable func(column int) error) (any, error) {
	if err := checkCount(names); err != nil {
		return nil, o.FileError(i, err)
	}
	used := o.Data.Schema.Layout.(Tabular).Table().UsedNames()
	for c, name := range names {
		if err := unreadable(c); err != nil && used[name] {
			return nil, o.FileError(i, err)
		}
	}
	differ, err := JoinColumns(o, names)
	switch {
	case err != nil:
		return nil, DiffersError(o, i, err)
	case !differ:
		return nil, nil
	}
	other := TableLayout{Label: -1}
	other.Columns, other.Path = withPath(names, o.Path)
	return &other, nil
}

// checkCount returns an error unless a file has columns, at most MaxColumns.
func checkCount(names []string) error {
	if n := len(names); n == 0 || n > MaxColumns {
		return fmt.Errorf("the number of columns must be 1 to %d (have %d)", MaxColumns, n)
	}
	return nil
}

// Unchanged returns an error unless a file still stores the columns that it had when it was opened.
func (l *TableLayout) Unchanged(names []string) error {
	if !slices.Equal(names, l.Stored()) {
		return errors.New("has other columns than when it was opened; start again when no process writes to it")
	}
	return nil
}

package dataset

import (
	"errors"
	"fmt"
	"slices"
)

// BeginStored completes the schema from the names of the columns of the first file with content,
// for formats in which files store the names and the types of their columns.
func BeginStored(o *Opening, names []string) error {
	layout, err := TableLayout{}, checkCount(names)
	if err == nil {
		layout, err = FirstLayout(o, names)
	}
	if err != nil {
		return o.Error(o.First, err)
	}
	BeginTable(o, &layout)
	return nil
}

// JoinStored compares the columns that file i stores with the first file's. It returns the
// Seen.What for AgreeColumns: a layout with the columns of the file, or nil if they do not differ.
// It is an error if a used column cannot be read; unreadable returns the reason, or nil.
func JoinStored(o *Opening, i int, names []string, unreadable func(column int) error) (any, error) {
	if err := checkCount(names); err != nil {
		return nil, o.Error(i, err)
	}
	used := o.Data.Schema.Layout.(Tabular).Table().Used()
	for c, name := range names {
		if err := unreadable(c); err != nil && used[name] {
			return nil, o.Error(i, err)
		}
	}
	differ, err := JoinColumns(o, names)
	switch {
	case err != nil:
		return nil, ErrDiffers(o, i, err)
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
		return fmt.Errorf("has %d columns; there must be 1 to %d", n, MaxColumns)
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

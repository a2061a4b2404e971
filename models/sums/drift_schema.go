package sums

import (
	"slices"
	"strings"
)

// SchemaChanges says how the columns of files differ from earlier ones. Columns are matched by name, so
// their order does not matter. Opening the data has already failed if a feature is missing.
type SchemaChanges struct {
	New       []string `json:"new,omitempty"`  // new columns, which are not used
	Gone      []string `json:"gone,omitempty"` // columns that are gone, which were not used
	Reordered bool     `json:"reordered,omitempty"`
}

// columnChanges compares the names of columns. It returns nil if they are the same, in the same order.
func columnChanges(was, is []string) *SchemaChanges {
	s := new(SchemaChanges)
	both := func(of, other []string, only *[]string) (shared []string) {
		for _, name := range of {
			if slices.Contains(other, name) {
				shared = append(shared, name)
			} else {
				*only = append(*only, name)
			}
		}
		return shared
	}
	s.Reordered = !slices.Equal(both(is, was, &s.New), both(was, is, &s.Gone))
	if s.New == nil && s.Gone == nil && !s.Reordered {
		return nil
	}
	return s
}

// String describes the changes in words.
func (s *SchemaChanges) String() string {
	var parts []string
	list := func(what string, names []string) {
		const most = 5
		if len(names) > most {
			names = append(slices.Clone(names[:most]), "…")
		}
		if len(names) > 0 {
			parts = append(parts, what+" "+strings.Join(names, ", "))
		}
	}
	list("new columns", s.New)
	list("columns that are gone:", s.Gone)
	if s.Reordered {
		parts = append(parts, "columns in another order")
	}
	return strings.Join(parts, "; ")
}

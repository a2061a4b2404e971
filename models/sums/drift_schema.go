package sums

import (
	"slices"
	"strings"
)

// SchemaChanges says how the columns of files differ from the columns of others. Columns are found
// by name, so that their order changes nothing; a feature that is missing is an error before.
type SchemaChanges struct {
	New       []string `json:"new,omitempty"`  // columns that were not there; they are not used
	Gone      []string `json:"gone,omitempty"` // columns that are no longer there; they were not used
	Reordered bool     `json:"reordered,omitempty"`
}

// columnChanges compares the names of columns; nil means that they are the same, in the same order.
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

// String says it in words.
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

package drift

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
)

// SchemaChanges lists the differences between the columns of files and earlier ones. Columns are matched by name, so
// their order does not matter. Opening the data has already failed if a feature is missing.
type SchemaChanges struct {
	New       []string `json:"new,omitempty"`  // new columns, which are not used
	Gone      []string `json:"gone,omitempty"` // columns that are gone, which were not used
	Reordered bool     `json:"reordered,omitempty"`
}

// columnChanges compares the names of columns. It returns nil if they are the same, in the same order.
func columnChanges(was, now []string) *SchemaChanges {
	s := new(SchemaChanges)
	both := func(names, other []string, only *[]string) (shared []string) {
		for _, name := range names {
			if slices.Contains(other, name) {
				shared = append(shared, name)
			} else {
				*only = append(*only, name)
			}
		}
		return shared
	}
	s.Reordered = !slices.Equal(both(now, was, &s.New), both(was, now, &s.Gone))
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

// Names are names for reports of drift.
type Names struct {
	Columns []string   // of the values of a row; nil if they have no names
	Levels  [][]string // for each categorical column
}

// NamesOf returns the names in a dataset.
func NamesOf(d *dataset.Dataset) Names {
	n := Names{Columns: d.Schema.Columns}
	if t := d.Schema.Table; t != nil {
		n.Columns = t.Names()
		for i := range t.Columns {
			for range t.Columns[i].Width() {
				n.Levels = append(n.Levels, t.Columns[i].Levels)
			}
		}
	}
	return n
}

func (n Names) column(j int) string {
	if j < len(n.Columns) {
		return n.Columns[j]
	}
	return fmt.Sprintf("column %d", j+1)
}

func (n Names) level(j, v int) string {
	if j < len(n.Levels) && v < len(n.Levels[j]) {
		return fmt.Sprintf("%q", n.Levels[j][v])
	}
	return "other levels"
}

// SchemaChangesOf compares the columns of files, except the label, with the columns that a model was
// trained on. It returns nil if columns have no names or are the same.
func SchemaChangesOf(in models.Input, d *dataset.Dataset) *SchemaChanges {
	like := new(dataset.Schema)
	if err := json.Unmarshal(in.Options, like); err != nil {
		return nil // opening the data has checked it
	}
	was, ok := like.Layout.(dataset.Tabular)
	if !ok || !was.Named() || len(d.Fields) == 0 {
		return nil
	}
	unlabelled := func(names []string) []string { // predictions do not need the label
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == in.Label })
	}
	return columnChanges(unlabelled(was.Table().Columns), unlabelled(d.Fields))
}

package sums

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
)

// DriftNames are names for reports of drift.
type DriftNames struct {
	Columns []string   // of the values of a row; nil if they have no names
	Levels  [][]string // for each categorical column
}

// DriftNamesOf returns the names in a dataset.
func DriftNamesOf(d *dataset.Dataset) DriftNames {
	n := DriftNames{Columns: d.Schema.Columns}
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

func (n DriftNames) column(j int) string {
	if j < len(n.Columns) {
		return n.Columns[j]
	}
	return fmt.Sprintf("column %d", j+1)
}

func (n DriftNames) level(j, v int) string {
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

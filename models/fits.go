package models

import (
	"slices"

	"github.com/bochner-ml/bochner/io/schema"
)

// replaceable returns an error unless m can replace the first model that a handle opened: m gets the same
// rows, and readers expect the same kind of predictions.
//
// It must have the same task. A regression or embedding must have outputs of the same names, because each
// is a column. Classes may differ, because scores and probabilities carry their names. Probabilities may be
// added. Columns are matched by name: m may use fewer columns than the first, and have other levels and
// missing codes. But a column that the first lacks, or has with another type, may be missing from the rows.
// Without names rows must have the same length.
func replaceable(first, m *Model) error {
	if a, b := first.Manifest.Task, m.Manifest.Task; a != b {
		return other("it is for %s, and not for %s", b, a)
	}
	if a, b := first.Outputs(), m.Outputs(); !m.Classifies() && !slices.Equal(a, b) {
		return other("it predicts %.80q, and not %.80q", b, a)
	}
	if first.Manifest.Probabilities != nil && m.Manifest.Probabilities == nil {
		return other("it has no probabilities")
	}
	had, has := columns(first), columns(m)
	if len(had) == 0 || len(has) == 0 {
		if a, b := first.Manifest.Input.Dim, m.Manifest.Input.Dim; a != b || len(had) != len(has) {
			return other("its rows have %d numbers, named %v; those of the first have %d, named %v", b, len(has) > 0, a,
				len(had) > 0)
		}
		return nil
	}
	for name, kind := range has {
		before, ok := had[name]
		if !ok {
			return other("it needs the column %.80q, which rows need not have", name)
		}
		if before != kind {
			return other("its column %.80q is of the type %s, and not %s", name, kind, before)
		}
	}
	return nil
}

// columns returns the named columns of a model with their types.
func columns(m *Model) map[string]schema.Type {
	of := map[string]schema.Type{}
	if t := m.Table(); t != nil {
		for i := range t.Columns {
			of[t.Columns[i].Name] = t.Columns[i].Type
		}
		return of
	}
	for _, name := range m.Manifest.Input.Columns {
		of[name] = schema.Number
	}
	return of
}

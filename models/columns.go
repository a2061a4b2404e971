package models

import (
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/internal/spell"
)

// Column holds the values of one column, one for each row.
type Column struct {
	Name   string
	Values []float64
}

// ErrNoColumns is returned if the columns of a model have no names because its training
// data had none.
var ErrNoColumns = errors.New("models: the columns of the model have no names; give whole rows")

// ColumnError reports a column that does not fit the model: it is unknown, duplicate or
// missing, or its number of rows differs from that of the first column.
type ColumnError struct {
	Name string
	Err  error
}

func (e *ColumnError) Error() string { return fmt.Sprintf("models: column %q: %v", e.Name, e.Err) }
func (e *ColumnError) Unwrap() error { return e.Err }

// Causes of a ColumnError.
var (
	ErrUnknownColumn = errors.New("the model has no such column")
	ErrMissingColumn = errors.New("is missing")
	ErrTwice         = errors.New("is given twice")
	ErrLength        = errors.New("its number of rows differs from that of the first column")
)

// AppendRows appends to dst the rows that the columns form, as Predict takes them. See
// PredictNamed.
func (m *Model) AppendRows(dst []float64, columns ...Column) ([]float64, error) {
	s := m.borrow()
	defer m.scratch.Put(s)
	return m.appendRows(dst, columns, s)
}

func (m *Model) appendRows(dst []float64, columns []Column, s *scratch) ([]float64, error) {
	names := m.Manifest.Input.Columns
	if len(names) == 0 {
		return dst, ErrNoColumns
	}
	s.order = grow(s.order, len(names)) // 1-based position in columns of each name
	clear(s.order)
	n := 0
	for i, c := range columns {
		j, ok := m.columns[c.Name]
		switch {
		case !ok:
			return dst, m.unknown(c.Name)
		case s.order[j] != 0:
			return dst, &ColumnError{c.Name, ErrTwice}
		case i > 0 && len(c.Values) != n:
			return dst, &ColumnError{c.Name, ErrLength}
		}
		s.order[j], n = i+1, len(c.Values)
	}
	for j, i := range s.order {
		if i == 0 {
			return dst, &ColumnError{names[j], ErrMissingColumn}
		}
	}
	at := len(dst)
	for range n * len(names) {
		dst = append(dst, 0)
	}
	for j, i := range s.order {
		for row, v := range columns[i-1].Values {
			dst[at+row*len(names)+j] = v
		}
	}
	return dst, nil
}

func (m *Model) unknown(name string) error {
	return &ColumnError{name, fmt.Errorf("%w%s", ErrUnknownColumn, spell.DidYouMean(name, m.Manifest.Input.Columns))}
}

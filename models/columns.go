package models

import (
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/internal/option"
)

// Column holds the values of one column, one for each row, as numbers or as texts.
type Column struct {
	Name string
	// Values are numbers; NaN is a missing value, if the model knows types of columns.
	Values []float64
	// Texts, unless nil, are used instead of Values, as written in a CSV file. The model must know types of
	// columns.
	Texts []string
}

func (c *Column) len() int {
	if c.Texts != nil {
		return len(c.Texts)
	}
	return len(c.Values)
}

// ErrNoColumns is returned if the columns of a model have no names, because its training data had none.
var ErrNoColumns = errors.New("models: the columns of the model have no names; give whole rows")

// ColumnError reports a column that does not fit the model: it is unknown, duplicate or missing, has
// another number of rows than the first column, or has a value that is impossible in the model's column.
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
	ErrTexts         = errors.New("all columns of the model are numbers, so texts cannot be used")
)

// AppendRows appends to dst the rows that the columns make up, as Predict takes them. See PredictNamed.
func (m *Model) AppendRows(dst []float64, columns ...Column) ([]float64, error) {
	s := m.borrow()
	defer m.scratch.Put(s)
	return m.appendRows(dst, columns, s)
}

func (m *Model) appendRows(dst []float64, columns []Column, s *scratch) ([]float64, error) {
	names := m.names
	if len(names) == 0 {
		return dst, ErrNoColumns
	}
	s.order = grow(s.order, len(names)) // for each name, 1 + its index in columns
	clear(s.order)
	n := 0
	for i, c := range columns {
		j, ok := m.columns[c.Name]
		switch {
		case !ok:
			return dst, m.unknown(c.Name)
		case s.order[j] != 0:
			return dst, &ColumnError{c.Name, ErrTwice}
		case i > 0 && c.len() != n:
			return dst, &ColumnError{c.Name, ErrLength}
		case m.table == nil && c.Texts != nil:
			return dst, &ColumnError{c.Name, ErrTexts}
		}
		s.order[j], n = i+1, c.len()
	}
	for j, i := range s.order {
		if i == 0 {
			return dst, &ColumnError{names[j], ErrMissingColumn}
		}
	}
	if m.table != nil {
		return m.appendTyped(dst, columns, s, n)
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
	return &ColumnError{name, fmt.Errorf("%w%s", ErrUnknownColumn, option.DidYouMean(name, m.names))}
}

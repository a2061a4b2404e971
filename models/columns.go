package models

import (
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/schema"
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
	ErrUnknownColumn  = errors.New("the model has no such column")
	ErrMissingColumn  = errors.New("is missing")
	ErrRepeatedColumn = errors.New("is given twice")
	ErrColumnLength   = errors.New("its number of rows differs from the first column's")
	ErrTextColumn     = errors.New("all columns of the model are numbers, so texts cannot be used")
)

// AppendRows appends to dst the rows that the columns make up, as Predict takes them. See PredictNamed.
func (m *Model) AppendRows(dst []float64, columns ...Column) ([]float64, error) {
	s := m.borrow()
	defer m.scratch.Put(s)
	return m.appendRows(dst, columns, s)
}

// appendRows appends the rows of columns in any order, which must be exactly the columns of the model.
func (m *Model) appendRows(dst []float64, columns []Column, s *scratch) ([]float64, error) {
	names := m.names
	if len(names) == 0 {
		return dst, ErrNoColumns
	}
	blas.Grow(&s.order, len(names)) // for each name, 1 + its index in columns
	clear(s.order)
	n := 0
	for i, c := range columns {
		j, ok := m.columns[c.Name]
		switch {
		case !ok:
			return dst, m.unknown(c.Name)
		case s.order[j] != 0:
			return dst, &ColumnError{c.Name, ErrRepeatedColumn}
		case i > 0 && c.len() != n:
			return dst, &ColumnError{c.Name, ErrColumnLength}
		case m.table == nil && c.Texts != nil:
			return dst, &ColumnError{c.Name, ErrTextColumn}
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
	dst = append(dst, make([]float64, n*len(names))...)
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

// Table returns the types of the columns that the model was trained on, or nil if all were numbers without
// missing values. The caller must not change it.
//
// With a Table, the rows of Predict hold the values that package schema describes: NaN for a missing value,
// the index of a level for a category. PredictNamed makes such rows from numbers and texts.
func (m *Model) Table() *schema.Table { return m.table }

// Centre returns what is subtracted from each number of a row, in float64, before it is rounded to float32;
// nil if nothing is. The caller must not change it.
func (m *Model) Centre() []float64 { return m.centre }

// Fill returns the values that Applier substitutes for missing ones if the training data had none, one for
// each of Input.Dim: the column means, if the model standardises columns. It is nil for other models, and
// for models with a Table, whose recipe fills in missing values.
func (m *Manifest) Fill() []float32 {
	r, err := m.Recipe.Open()
	if err != nil {
		return nil
	}
	if c, ok := r.(features.Chain); ok {
		r = c.Steps[0]
	}
	if s, ok := r.(preprocess.Standard); ok {
		return s.Mean
	}
	return nil
}

// fillIn replaces missing values in rows of x.
func (m *Model) fillIn(x []float32) {
	d := len(m.fill)
	for i, v := range x {
		if math.IsNaN(float64(v)) {
			x[i] = m.fill[i%d]
		}
	}
}

// appendTyped appends the rows that columns make up, by the types of the model. s.order has 1 + the index
// in columns of each of the model's columns.
func (m *Model) appendTyped(dst []float64, columns []Column, s *scratch, n int) ([]float64, error) {
	if s.decoder == nil {
		s.decoder = schema.NewDecoder(m.table, nil) // the centre is subtracted later
		s.decoded = make([]float32, m.table.Width())
	}
	width := m.table.Width()
	for row := range n {
		at := len(dst)
		dst = append(dst, make([]float64, width)...)
		for j := range m.table.Columns {
			c := &columns[s.order[j]-1]
			slot, typed := s.decoder.Slot(j), &m.table.Columns[j]
			if c.Texts != nil {
				s.text = append(s.text[:0], c.Texts[row]...)
			}
			var reason string
			switch number := typed.Type == schema.Number; {
			case number && c.Texts == nil:
				dst[at+slot] = c.Values[row]
				continue
			case number && m.centre != nil && m.centre[slot] != 0: // with the digits that float32 lacks
				if dst[at+slot], reason = s.decoder.Number(j, s.text); reason == "" {
					continue
				}
			case c.Texts != nil:
				reason = s.decoder.Text(s.decoded, j, s.text)
			default:
				reason = s.decoder.Float(s.decoded, j, c.Values[row])
			}
			if reason != "" {
				return dst[:at], &ColumnError{c.Name, fmt.Errorf("row %d: %w", row, errors.New(reason))}
			}
			widen(dst[at+slot:], s.decoded[slot:slot+typed.Width()])
		}
	}
	return dst, nil
}

package models

import (
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/schema"
)

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
		if v != v {
			x[i] = m.fill[i%d]
		}
	}
}

// appendTyped appends the rows that columns make up, by the types of the model. s.order has 1 + the index
// in columns of each of the model's columns.
func (m *Model) appendTyped(dst []float64, columns []Column, s *scratch, n int) ([]float64, error) {
	if s.decoder == nil {
		// A nil centre: it is subtracted later, from float64.
		s.decoder = schema.NewDecoder(m.table, nil)
		s.decoded = make([]float32, m.table.Width())
	}
	width := m.table.Width()
	for row := range n {
		at := len(dst)
		dst = append(dst, make([]float64, width)...)
		for j := range m.table.Columns {
			c := &columns[s.order[j]-1]
			slot, typed := s.decoder.Slot(j), &m.table.Columns[j]
			var reason string
			switch {
			case c.Texts != nil:
				s.text = append(s.text[:0], c.Texts[row]...)
				reason = s.decoder.Text(s.decoded, j, s.text)
			case typed.Type == schema.Number:
				dst[at+slot] = c.Values[row]
				continue
			default:
				reason = s.decoder.Float(s.decoded, j, c.Values[row])
			}
			if reason != "" {
				return dst[:at], &ColumnError{c.Name, fmt.Errorf("row %d: %w", row, errors.New(reason))}
			}
			for i := range typed.Width() {
				dst[at+slot+i] = float64(s.decoded[slot+i])
			}
		}
	}
	return dst, nil
}

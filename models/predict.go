package models

import (
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
)

// ErrNoProbabilities is returned if a model has only scores: it was fitted without calibration, by a
// learner whose scores are not probabilities.
var ErrNoProbabilities = errors.New("models: the model has no probabilities")

// RowError reports a number that a model does not accept: NaN, or a number too large for float32. For a row that is
// too large as a whole, Column is −1, and there is neither Name nor Value.
type RowError struct {
	Row, Column int    // from 0
	Name        string // of the column, if it has one
	Value       float64
}

// TooLarge is the reason why a row has no prediction if its scores, or the novelty that is asked for, are not finite.
const TooLarge = "the numbers are too large for the model"

func (e *RowError) Error() string {
	if e.Column < 0 {
		return fmt.Sprintf("models: row %d: %s", e.Row, TooLarge)
	}
	name := ""
	if e.Name != "" {
		name = fmt.Sprintf(" (%s)", e.Name)
	}
	return fmt.Sprintf("models: row %d, column %d%s: %g is not a finite float32 number", e.Row, e.Column, name, e.Value)
}

// scratch is the memory of one call.
type scratch struct {
	applier Applier
	x       []float32
	named   []float64
	order   []int

	decoder *schema.Decoder // for typed columns
	decoded []float32
	text    []byte
}

// Width returns how many numbers Predict stores for each row: 1 for a classifier, otherwise one for each
// output.
func (m *Model) Width() int {
	if m.Classifies() {
		return 1
	}
	return m.Linear.K
}

// Predict stores in dst the predictions for rows, Width numbers for each. Rows are row-major, have
// Input.Dim numbers each, and are in the units of the training data. Predictions of a regression are
// targets in the units of the training data; of an embedding, coordinates; of a classifier, indices into
// Outputs. They equal the command's, bit for bit.
//
// A row with NaN, or with a number that does not fit in float32, is a *RowError; the content of dst is then
// undefined. If the model has a Table, NaN is a missing value. Nothing is allocated in the steady state.
func (m *Model) Predict(dst, rows []float64) error { return predict(m, dst, rows) }

// Predict32 is Predict for rows in float32.
func (m *Model) Predict32(dst []float64, rows []float32) error { return predict(m, dst, rows) }

// PredictNamed is Predict for rows stored by columns. The columns may be in any order. They must have the
// names of Input.Columns, or of Table if the model has one, each exactly once.
func (m *Model) PredictNamed(dst []float64, columns ...Column) error {
	s := m.borrow()
	defer m.scratch.Put(s)
	var err error
	if s.named, err = m.appendRows(s.named[:0], columns, s); err != nil {
		return err
	}
	return predict(m, dst, s.named)
}

// Scores stores in dst the scores of rows, one for each output; rows are as for Predict. A classifier
// predicts the class with the largest score, unless its probabilities decide otherwise.
func (m *Model) Scores(dst, rows []float64) error {
	return run(m, dst, rows, result{width: m.Linear.K,
		store: func(dst []float64, output Applied) { widen(dst, output.Scores) }})
}

// Probabilities stores in dst the probability of each class, in the order of Outputs; rows are as for
// Predict. The error is ErrNoProbabilities if the model has none.
func (m *Model) Probabilities(dst, rows []float64) error {
	if m.Manifest.Probabilities == nil {
		return ErrNoProbabilities
	}
	return run(m, dst, rows, result{width: m.Linear.K,
		store: func(dst []float64, output Applied) { widen(dst, output.Probabilities) }})
}

// Class returns the name of the class that Predict has stored. It panics if there is no such class.
func (m *Model) Class(prediction float64) string {
	return m.Manifest.Vocabulary.Classes[int(prediction)]
}

func widen(dst []float64, v []float32) {
	for i, x := range v {
		dst[i] = float64(x)
	}
}

func predict[T float32 | float64](m *Model, dst []float64, x []T) error {
	return run(m, dst, x, result{width: m.Width(), store: func(dst []float64, output Applied) {
		if output.Targets != nil {
			copy(dst, output.Targets)
			return
		}
		for i, c := range output.Classes {
			dst[i] = float64(c)
		}
	}})
}

// result says what run stores.
type result struct {
	width   int  // numbers for each row
	novelty bool // store needs the novelty of rows
	store   func(dst []float64, output Applied)
}

// run applies the model to the rows of x, a block at a time, and stores the result of each block in its part of dst.
func run[T float32 | float64](m *Model, dst []float64, x []T, r result) error {
	in, out := m.Map.Dims()
	n := len(x) / in
	if n*in != len(x) {
		return fmt.Errorf("models: %d numbers do not form rows of %d", len(x), in)
	}
	if len(dst) < n*r.width {
		return fmt.Errorf("models: dst has %d numbers, want %d rows of %d", len(dst), n, r.width)
	}
	s := m.borrow()
	defer m.scratch.Put(s)
	s.applier.Novelty = r.novelty
	k, step := m.Linear.K, rowio.RowsPerFeatureBlock(out)
	for at := 0; at < n; at += step {
		size := min(step, n-at)
		blas.Grow(&s.x, size*in)
		if i := narrow(s.x, x[at*in:(at+size)*in], m.centre, m.table != nil); i >= 0 {
			i += at * in
			return m.rowError(i/in, i%in, float64(x[i]))
		}
		output := s.applier.Apply(s.x, size)
		for i := range size {
			if !exact.AllFinite(output.Scores[i*k:(i+1)*k]) || r.novelty && !exact.Finite(output.Novelty[i]) {
				return &RowError{Row: at + i, Column: -1}
			}
		}
		r.store(dst[at*r.width:(at+size)*r.width], output)
	}
	return nil
}

// narrow stores in dst, as float32, the numbers of rows minus the centre, if there is one. It returns the
// index of the first result that is infinite, or NaN unless missing is set; −1 if there is none.
func narrow[T float32 | float64](dst []float32, x []T, centre []float64, missing bool) int {
	if centre == nil {
		for i, v := range x {
			f := float32(v)
			if !exact.Finite(f) && !(missing && math.IsNaN(float64(v))) {
				return i
			}
			dst[i] = f
		}
		return -1
	}
	for at := 0; at < len(x); at += len(centre) {
		for j, c := range centre {
			f := float32(float64(x[at+j]) - c)
			if !exact.Finite(f) && !(missing && math.IsNaN(float64(x[at+j]))) {
				return at + j
			}
			dst[at+j] = f
		}
	}
	return -1
}

func (m *Model) rowError(row, column int, v float64) error {
	e := &RowError{Row: row, Column: column, Value: v}
	if names := m.Manifest.Input.Columns; len(names) > 0 {
		e.Name = names[column]
	}
	return e
}

func (m *Model) borrow() *scratch {
	if s, ok := m.scratch.Get().(*scratch); ok {
		return s
	}
	return &scratch{applier: Applier{Model: m}}
}

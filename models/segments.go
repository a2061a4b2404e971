package models

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
)

// SegmentsFile is the file of a model directory with the weights of Segments. It is like WeightsFile, with
// the outputs of all segments, one segment after the other.
const SegmentsFile = "segments.safetensors"

// MaxSegments limits the segments of a model.
const MaxSegments = 10_000

// Segments are separate linear models for the rows with certain values in a column. Rows with other values
// are predicted by Model.Linear.
type Segments struct {
	Column string    `json:"column"`
	Slot   int       `json:"slot"` // index of the column's value in a row
	Of     []Segment `json:"of"`   // ascending by value

	models []*linear.Model
}

// Segment is the model of one value.
type Segment struct {
	Name  string  `json:"name"`  // the value as text
	Value float32 `json:"value"` // in a row: a number, or the index of a level
	Rows  int64   `json:"rows"`  // number of rows that it was fitted to
	// Shrinkage is κ > 0: the weights w_s minimise the squared errors + κ‖w_s − w‖², where w are the
	// weights of all rows. If rows have weights, κ is multiplied by their mean.
	Shrinkage float64 `json:"shrinkage"`
}

// Models returns the models of the segments, in the order of Of.
func (s *Segments) Models() []*linear.Model { return s.models }

// SetWeights sets the models of the segments, which have K outputs on D features each.
func (s *Segments) SetWeights(models []*linear.Model) { s.models = models }

func (s *Segments) check(m *Manifest) error {
	switch {
	case s == nil:
		return nil
	case len(s.Of) == 0 || len(s.Of) > MaxSegments || len(s.Of)*m.Outputs > ridge.MaxOutputs:
		return fmt.Errorf("%d segments of %d outputs", len(s.Of), m.Outputs)
	case s.Slot < 0 || s.Slot >= m.Input.Dim:
		return fmt.Errorf("segments by number %d of %d", s.Slot, m.Input.Dim)
	}
	for i := range s.Of {
		if o := s.Of[i]; !exact.Finite(o.Value) || i > 0 && o.Value <= s.Of[i-1].Value || !(o.Shrinkage >= 0) {
			return fmt.Errorf("segment %q with the value %g and shrinkage %g; values must ascend", o.Name, o.Value, o.Shrinkage)
		}
	}
	return nil
}

// file returns the SegmentsFile.
func (s *Segments) file() (storage.File, error) {
	all := &linear.Model{K: len(s.models) * s.models[0].K, D: s.models[0].D}
	for _, l := range s.models {
		all.W, all.B = append(all.W, l.W...), append(all.B, l.B...)
	}
	var data bytes.Buffer
	err := WriteWeights(&data, all)
	return storage.File{Name: SegmentsFile, Data: data.Bytes()}, err
}

// read decodes the SegmentsFile of a model with k outputs on d features.
func (s *Segments) read(data []byte, k, d int) error {
	all, err := ReadWeights(data, len(s.Of)*k, d)
	if err != nil {
		return fmt.Errorf("%s: %w", SegmentsFile, err)
	}
	for i := range s.Of {
		s.models = append(s.models, &linear.Model{W: all.W[i*k*d:][:k*d], B: all.B[i*k:][:k], K: k, D: d})
	}
	return nil
}

// scores replaces the scores of rows that belong to a segment, given the features of all n rows.
func (s *Segments) scores(dst, phi, x []float32, n int) {
	if s == nil {
		return
	}
	in, d, k := len(x)/n, s.models[0].D, s.models[0].K
	for i := range n {
		at, found := slices.BinarySearchFunc(s.Of, x[i*in+s.Slot], func(o Segment, v float32) int {
			return cmp.Compare(o.Value, v) // NaN is in no segment
		})
		if found {
			s.models[at].Scores(dst[i*k:], phi[i*d:], 1)
		}
	}
}

package models

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
)

// SketchFile is the file of a model directory with the weights of a Sketch, like WeightsFile.
const SketchFile = "sketch.safetensors"

// ErrNoNovelty is returned by models of other learners than ridge, and by models trained with --intervals none.
var ErrNoNovelty = errors.New("models: the model has no novelty; train with learner ridge, without --intervals none")

// Sketch estimates leverages: how far the features of a row are from the features of the training rows. The
// novelty of a row is the sum of the squares of the outputs of SketchFile.
type Sketch struct {
	Probes int `json:"probes"` // number of outputs of SketchFile
	// Leverage is the mean leverage of the training rows, φᵀ(G + nλI)⁻¹φ for centred features φ with G =
	// Σφφᵀ: how much a row's target moves its own prediction. The leverage of a row is this times its
	// novelty, whose mean over the training rows is 1.
	Leverage float64 `json:"leverage"`

	linear *linear.Model
}

// NewSketch returns a sketch with the outputs of l.
func NewSketch(l *linear.Model, leverage float64) *Sketch { return &Sketch{l.K, leverage, l} }

func (s *Sketch) check() error {
	if s != nil && (s.Probes < 1 || s.Probes > ridge.Probes || !(s.Leverage > 0) || !exact.Finite(s.Leverage)) {
		return fmt.Errorf("the probes of a sketch must be 1 to %d, and its mean leverage above 0 (have %d, %g)",
			ridge.Probes, s.Probes, s.Leverage)
	}
	return nil
}

// file returns the SketchFile.
func (s *Sketch) file() (storage.File, error) {
	var data bytes.Buffer
	err := WriteWeights(&data, s.linear)
	return storage.File{Name: SketchFile, Data: data.Bytes()}, err
}

// read decodes the SketchFile of a model with d features.
func (s *Sketch) read(data []byte, d int) (err error) {
	if s.linear, err = ReadWeights(data, s.Probes, d); err != nil {
		return fmt.Errorf("%s: %w", SketchFile, err)
	}
	return nil
}

// SumSquares stores in dst the sum of squares of each row of outputs, row-major: its novelty.
func SumSquares(dst, outputs []float32) {
	k := len(outputs) / max(1, len(dst))
	for i := range dst {
		sum := 0.0
		for _, v := range outputs[i*k : (i+1)*k] {
			sum += float64(float64(v) * float64(v))
		}
		dst[i] = float32(sum)
	}
}

// Novelty stores in dst one number for each row: how far its features are from the features of the training
// rows, for which the mean is 1. New rows of the same kind have slightly more. Rows are as for Predict. The
// error is ErrNoNovelty.
func (m *Model) Novelty(dst, rows []float64) error {
	if m.Manifest.Sketch == nil {
		return ErrNoNovelty
	}
	return run(m, dst, rows, result{width: 1, novelty: true,
		store: func(dst []float64, output Applied) { widen(dst, output.Novelty) }})
}

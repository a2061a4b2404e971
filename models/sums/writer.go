package sums

import (
	"io"
)

// Writer writes the sums of a part.
type Writer struct {
	e *encoder
}

// NewWriter returns a Writer.
func NewWriter() (*Writer, error) {
	e, err := newEncoder()
	return &Writer{e}, err
}

// Fold writes the parts of the sum of a fold to w, in order.
func (w *Writer) Fold(out io.Writer, parts int, load func(i int) ([]float64, error)) ([]Frame, error) {
	var frames []Frame
	var buf []byte
	for i := range parts {
		values, err := load(i)
		if err != nil {
			return nil, err
		}
		var f Frame
		buf, f = w.e.append(buf[:0], values)
		frames = append(frames, f)
		if _, err := out.Write(buf); err != nil {
			return nil, err
		}
	}
	return frames, nil
}

// Sum returns the frames of a sum, whose sizes are not known, and writes nothing.
func (w *Writer) Sum(parts int, load func(i int) ([]float64, error)) ([]Frame, error) {
	var frames []Frame
	for i := range parts {
		values, err := load(i)
		if err != nil {
			return nil, err
		}
		frames = append(frames, w.e.unpacked(values))
	}
	return frames, nil
}

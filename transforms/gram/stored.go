package gram

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/transforms"
)

// Stored gives access to the merged parts that a State names.
type Stored struct {
	dir   string
	parts []stored
}

// OpenSums reads the index of the parts of that many folds.
func OpenSums(ctx context.Context, st State, folds int, shape ridge.Shape) (*Stored, error) {
	index, err := storage.ReadState(ctx, st.Sum, transforms.MaxState)
	if err != nil {
		return nil, err
	}
	parts, err := readIndex(index, folds*ridge.NumParts(shape))
	return &Stored{st.Dir, parts}, err
}

// Load returns the numbers of a part, in the order of the folds and of ridge.Sum.Part.
func (s *Stored) Load(ctx context.Context, key int) ([]float64, error) {
	return loadPart(ctx, s.dir, s.parts[key])
}

// Head returns the first part of the sum of all folds.
func (s *Stored) Head(ctx context.Context, folds int, shape ridge.Shape) (head []float64, err error) {
	for f := range folds {
		part, err := s.Load(ctx, f*ridge.NumParts(shape))
		if err != nil {
			return nil, err
		}
		head = slices.Grow(head, len(part))[:len(part)]
		for i, v := range part {
			head[i] += v
		}
	}
	return head, nil
}

// SumsWriter writes merged parts as the files that a State names.
type SumsWriter struct {
	st    State
	lines [][]byte
}

// NewSumsWriter returns a writer of n parts for the State.
func NewSumsWriter(st State, n int) *SumsWriter { return &SumsWriter{st, make([][]byte, n)} }

// Put writes a part, as Stored.Load numbers them. Several goroutines may call it for different
// parts.
func (w *SumsWriter) Put(ctx context.Context, key int, values []float64) (err error) {
	st, err := storePart(ctx, w.st.Dir, partName, key, values)
	if err == nil {
		w.lines[key], err = json.Marshal(st)
	}
	return err
}

// Close writes the reports, and then the index.
func (w *SumsWriter) Close(ctx context.Context, reports []Report) error {
	var data [][]byte
	for _, r := range reports {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		data = append(data, line)
	}
	if err := transforms.StoreLines(ctx, w.st.Reports, data); err != nil {
		return err
	}
	return storage.WriteState(ctx, w.st.Sum, bytes.Join(w.lines, []byte("\n")))
}

// storePart writes a part as a file of the directory, whose name begins with that text and ends with
// its content.
func storePart(ctx context.Context, dir, name string, key int, values []float64) (stored, error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	*buf = encodePart(*buf, values)
	return storeFile(ctx, dir, name, key, *buf)
}

// storeFile writes what a part has.
func storeFile(ctx context.Context, dir, name string, key int, data []byte) (stored, error) {
	st := stored{Key: key, Sum: checksum(data)}
	st.File = fmt.Sprintf("%s-%06d-%s", name, key, st.Sum)
	_, err := storage.CreateState(ctx, storage.Join(dir, st.File), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	return st, err
}

package gram

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/transforms"
)

// StoredSums gives access to the merged parts that a State names.
type StoredSums struct {
	dir  string
	runs []storedRun
}

// OpenSums reads the index of the merged parts of the given number of folds.
func OpenSums(ctx context.Context, st State, folds int, shape ridge.Shape) (*StoredSums, error) {
	index, err := storage.ReadState(ctx, st.Sum, transforms.MaxState)
	if err != nil {
		return nil, err
	}
	runs, err := readIndex(index, folds*shape.NumParts())
	return &StoredSums{st.Dir, runs}, err
}

// Check reads all parts, and returns storage.ErrDamaged if one is damaged or missing.
func (s *StoredSums) Check(ctx context.Context) error {
	for key := range s.runs[len(s.runs)-1].end() {
		if _, err := s.Load(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// Load returns the numbers of a part. Keys count the parts of the first fold, then of the second,
// and so on.
func (s *StoredSums) Load(ctx context.Context, key int) ([]float64, error) {
	return loadPart(ctx, s.dir, s.runs, key)
}

// Head returns the first part of the sum over all folds.
func (s *StoredSums) Head(ctx context.Context, folds int, shape ridge.Shape) (head ridge.Head, err error) {
	for f := range folds {
		part, err := s.Load(ctx, f*shape.NumParts())
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
	Runs  []ridge.Stripe // the parts of each file
	st    State
	lines [][]byte
}

// NewSumsWriter returns a writer of sums of the given number of folds for the State.
func NewSumsWriter(st State, folds int, shape ridge.Shape) *SumsWriter {
	runs := runsOf(shape, ridge.Stripe{End: folds * shape.NumParts()})
	return &SumsWriter{runs, st, make([][]byte, len(runs))}
}

// Put writes a run. values returns the numbers of a part, by its key as in StoredSums.Load. Several
// goroutines may call Put for different runs.
func (w *SumsWriter) Put(ctx context.Context, run int, values func(key int) ([]float64, error)) (err error) {
	w.lines[run], err = storeRun(ctx, w.st.Dir, w.Runs[run], values)
	return err
}

// Close writes the reports, and then the index.
func (w *SumsWriter) Close(ctx context.Context, reports []ShardReport) error {
	var data [][]byte
	err := transforms.EmitJSON(func(line []byte) { data = append(data, line) }, reports...)
	if err != nil {
		return err
	}
	if err := transforms.StoreLines(ctx, w.st.Reports, data); err != nil {
		return err
	}
	return storage.WriteState(ctx, w.st.Sum, bytes.Join(w.lines, []byte("\n")))
}

// storeRun writes a run to a file of its own and returns its line of JSON.
func storeRun(ctx context.Context, dir string, run ridge.Stripe,
	values func(key int) ([]float64, error)) ([]byte, error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	data, at, err := appendRun((*buf)[:0], run, values)
	if err != nil {
		return nil, err
	}
	*buf = data
	saved, err := storeFile(ctx, dir, partName, run.First, data)
	if err != nil {
		return nil, err
	}
	saved.At = at
	return json.Marshal(saved)
}

// storeFile writes a file whose name begins with name and ends with a hash of its content.
func storeFile(ctx context.Context, dir, name string, key int, data []byte) (storedRun, error) {
	run := storedRun{Key: key, File: fmt.Sprintf("%s-%06d-%016x", name, key, xxhash.Sum64(data)),
		At: []int64{0, int64(len(data))}}
	_, err := storage.CreateState(ctx, storage.Join(dir, run.File), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	return run, err
}

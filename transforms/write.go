package transforms

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/transforms/fault"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[*writeLinesFn]())
	beam.RegisterDoFn(reflect.TypeFor[*writeFn]())
	beam.RegisterFunction(OneKey)
}

// OneKey gives every element the same key, so that one worker gets all of them.
func OneKey(line []byte) (int, []byte) { return 0, line }

// WriteLines writes a collection of lines, each without a newline, as one sorted file of
// state. It is meant for a few small elements that a driver reads back. It writes nothing
// if the collection is empty.
func WriteLines(s beam.Scope, uri string, lines beam.PCollection) {
	s = s.Scope("transforms.WriteLines")
	grouped := beam.GroupByKey(s, beam.ParDo(s, OneKey, lines))
	beam.ParDo0(s, &writeLinesFn{URI: uri}, grouped)
}

type writeLinesFn struct{ URI string }

func (f *writeLinesFn) ProcessElement(ctx context.Context, _ int, lines func(*[]byte) bool) error {
	return fault.Wrap(fault.Internal, StoreLines(ctx, f.URI, Sorted(lines)))
}

// StoreLines writes lines as WriteLines does.
func StoreLines(ctx context.Context, uri string, lines [][]byte) error {
	var data []byte
	for _, line := range lines {
		data = append(append(data, line...), '\n')
	}
	return storage.WriteState(ctx, uri, data)
}

// ReadLines reads the values in a file of state whose lines are JSON.
func ReadLines[T any](ctx context.Context, uri string) (all []T, err error) {
	data, err := storage.ReadState(ctx, uri, MaxState)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(data) {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return nil, fmt.Errorf("transforms: reports %s: %w", uri, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// EmitJSON emits values in JSON.
func EmitJSON[T any](emit func([]byte), values ...T) error {
	for _, v := range values {
		line, err := json.Marshal(v)
		if err != nil {
			return err
		}
		emit(line)
	}
	return nil
}

// Sorted returns copies of the elements, sorted.
func Sorted(next func(*[]byte) bool) (all [][]byte) {
	var e []byte
	for next(&e) {
		all = append(all, bytes.Clone(e))
	}
	slices.SortFunc(all, bytes.Compare)
	return all
}

// Write writes the only element of a collection as a file of state.
func Write(s beam.Scope, uri string, col beam.PCollection) {
	s = s.Scope("transforms.Write")
	beam.ParDo0(s, &writeFn{URI: uri}, col)
}

type writeFn struct{ URI string }

func (f *writeFn) ProcessElement(ctx context.Context, data []byte) error {
	return fault.Wrap(fault.Internal, storage.WriteState(ctx, f.URI, data))
}

// StoreWeights writes weights as a safetensors file of the work directory, and
// returns its SHA-256.
func StoreWeights(ctx context.Context, uri string, l *linear.Model) (sum string, err error) {
	hash := sha256.New()
	_, err = storage.CreateState(ctx, uri, func(w io.Writer) error {
		return models.WriteWeights(io.MultiWriter(w, hash), l)
	})
	return hex.EncodeToString(hash.Sum(nil)), err
}

// LoadWeights reads the weights of k outputs on d features that StoreWeights wrote. sum is their SHA-256.
func LoadWeights(ctx context.Context, uri, sum string, k, d int) (*linear.Model, error) {
	data, err := readWeights(ctx, uri, sum)
	if err != nil {
		return nil, err
	}
	return models.ReadWeights(data, k, d)
}

// CheckWeights returns an error unless the file is what StoreWeights has written.
func CheckWeights(ctx context.Context, uri, sum string) error {
	_, err := readWeights(ctx, uri, sum)
	return err
}

func readWeights(ctx context.Context, uri, sum string) ([]byte, error) {
	data, err := storage.ReadFile(ctx, uri, MaxState)
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
		return nil, storage.DamagedError(uri)
	}
	return data, nil
}

package gram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"sort"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/cespare/xxhash/v2"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

func init() {
	beam.RegisterDoFn(reflect.TypeOf((*indexFn)(nil)))
}

// State names the files of the work directory between a ridge pass and its model.
type State struct {
	Dir     string // where the merged parts are
	Reports string // reports of the pass, as WriteLines writes them
	// Sum is the index of the merged parts: if it exists, the sum is complete and the
	// reports exist.
	Sum string
	Fit string // the result: λ, the table of the path
	// Weights is a safetensors file of the fit.
	Weights string
	// HeldOut is that of the fit without the first fold, if Fold.HeldOut asks for it.
	HeldOut string
	// Trials is that of the fits without the first fold for each λ that was tried, in
	// order.
	Trials string
	// Chosen, unless empty, holds the λ that the trials chose: it alone is solved for, and
	// folds serve only HeldOut.
	Chosen []float64
}

// stored is a part in a file.
type stored struct {
	Key  int    `json:"key"`
	File string `json:"file"`
	Sum  string `json:"sum"`            // checksum of the content
	Rows bool   `json:"rows,omitempty"` // it has rows, and Key is their fold
}

// partName is how the names of the files of parts begin that a merge needs, or has made.
const partName = "part"

// Index writes the index of the parts that Merge returns, and the reports of the pass,
// so that everything is stored before the solve, which takes long: a stopped run can then
// resume. It returns one element when that is done.
func Index(s beam.Scope, sc transforms.Scan, st State, stored, reports beam.PCollection) beam.PCollection {
	s = s.Scope("gram.Index")
	grouped := beam.CoGroupByKey(s, beam.ParDo(s, transforms.ToOne, stored), beam.ParDo(s, transforms.ToOne, reports))
	return beam.ParDo(s, &indexFn{State: st, Stripes: sc.Stripes}, grouped)
}

type indexFn struct {
	State   State
	Stripes int // that report on every shard
}

func (f *indexFn) ProcessElement(ctx context.Context, _ int, lines, reports func(*[]byte) bool) ([]byte, error) {
	of := transforms.Gather(reports)
	if f.Stripes > 1 {
		var err error
		if of, err = joinReports(of); err != nil {
			return nil, fault.Of(fault.Internal, err)
		}
	}
	if err := transforms.StoreLines(ctx, f.State.Reports, of); err != nil {
		return nil, fault.Of(fault.Internal, err)
	}
	index := bytes.Join(transforms.Gather(lines), []byte("\n"))
	return nil, fault.Of(fault.Internal, storage.WriteState(ctx, f.State.Sum, index))
}

// readIndex returns the stored parts in the order of their keys. There must be n parts,
// one for each key.
func readIndex(index []byte, n int) ([]stored, error) {
	parts, err := parseIndex(index)
	if err != nil {
		return nil, err
	}
	sort.Slice(parts, func(i, j int) bool { return parts[i].Key < parts[j].Key })
	if len(parts) != n {
		return nil, fmt.Errorf("gram: %d parts of the sum arrived, want %d", len(parts), n)
	}
	for i, st := range parts {
		if st.Key != i {
			return nil, fmt.Errorf("gram: part %d of the sum is missing", i)
		}
	}
	return parts, nil
}

func parseIndex(index []byte) (parts []stored, err error) {
	for line := range bytes.Lines(index) {
		var st stored
		if err := json.Unmarshal(line, &st); err != nil {
			return nil, fmt.Errorf("gram: index of the sum: %w", err)
		}
		parts = append(parts, st)
	}
	return parts, nil
}

func loadPart(ctx context.Context, dir string, st stored) ([]float64, error) {
	data, err := readPart(ctx, dir, st)
	if err != nil {
		return nil, err
	}
	return DecodePart(data)
}

// buffers are for files of parts, which are as large as each other but for the last.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// reader adds parts to sums, as often as they are needed.
type reader struct {
	dir   string
	parts []stored
}

// add adds the part at that position to dst, without allocating its numbers, which are as many as a fold has.
func (r *reader) add(ctx context.Context, dst []float64, at int) error {
	st := r.parts[at]
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	data, err := partFile(ctx, *buf, r.dir, st)
	if err != nil {
		return err
	}
	*buf = data
	if err := st.check(r.dir, data); err != nil {
		return err
	}
	n, err := partLen(data)
	if err != nil {
		return err
	}
	if n != len(dst) {
		return fmt.Errorf("gram: %s has %d numbers, want %d; run again without --resume", st.File, n, len(dst))
	}
	addValues(dst, data)
	return nil
}

// readPart returns the content of a part's file.
func readPart(ctx context.Context, dir string, st stored) ([]byte, error) {
	data, err := partFile(ctx, nil, dir, st)
	if err != nil {
		return nil, err
	}
	return data, st.check(dir, data)
}

// partFile returns the content of a part's file, in the memory of buf if that is large enough, unchecked.
func partFile(ctx context.Context, buf []byte, dir string, st stored) ([]byte, error) {
	uri := storage.Join(dir, st.File)
	data, err := storage.ReadInto(ctx, buf, uri, 1<<28)
	if errors.Is(err, fs.ErrNotExist) {
		err = storage.Damaged(uri) // the index names a file that no longer exists
	}
	return data, err
}

// checksum finds damage by a power failure or a bad disk, for which 64 bits are enough, and takes an eighth of the time of
// SHA-256.
func checksum(data []byte) string { return fmt.Sprintf("%016x", xxhash.Sum64(data)) }

// check returns an error unless data is what was stored.
func (st stored) check(dir string, data []byte) error {
	if checksum(data) != st.Sum {
		return storage.Damaged(storage.Join(dir, st.File))
	}
	return nil
}

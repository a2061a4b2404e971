package gram

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"sort"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/cespare/xxhash/v2"

	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

func init() { beam.RegisterDoFn(reflect.TypeFor[*indexFn]()) }

// State names the files of the work directory that a Pass and its Solve write.
type State struct {
	Dir     string // directory of the merged parts
	Reports string // reports of the pass, as WriteLines writes them
	// Sum is the index of the merged parts. If it exists, the sum and the reports are complete.
	Sum       string
	FitReport string // the result, a FitReport
	// Weights is a safetensors file of the fit.
	Weights string
	// HeldOut holds the weights of the fit without the first fold, if the Spec asks for it.
	HeldOut string
	// Trials holds the weights of the fits without the first fold, in the order of the tried λ,
	// followed by the outputs of FitReport.FirstSketch, if there is one.
	Trials string
	// Sketch holds the outputs of FitReport.Sketch.
	Sketch string
	// Chosen, unless empty, has the values of λ that were chosen from the trials. Solve then uses only
	// these, and folds only for HeldOut.
	Chosen []float64
}

// storedRun describes a run of parts with consecutive keys in a file, each followed by its checksum.
type storedRun struct {
	Key  int     `json:"key"` // key of the first part
	File string  `json:"file"`
	At   []int64 `json:"at"`             // offset of each part in the file, and of the end of the last one
	Rows bool    `json:"rows,omitempty"` // the file holds rows, and Key is their fold
}

// partName begins the names of files of parts that are the input or the output of a merge.
const partName = "part"

// Index writes the index of the parts that Merge returns, and the reports of the pass. Then everything is stored
// before the solve, which takes long, and a stopped run can resume. Index returns one element when that is done.
func Index(s beam.Scope, sc transforms.Scan, st State, stored, reports beam.PCollection) beam.PCollection {
	s = s.Scope("gram.Index")
	grouped := beam.CoGroupByKey(s, beam.ParDo(s, transforms.OneKey, stored), beam.ParDo(s, transforms.OneKey, reports))
	return beam.ParDo(s, &indexFn{State: st, Stripes: sc.Stripes}, grouped)
}

type indexFn struct {
	State   State
	Stripes int // that report on every shard
}

func (f *indexFn) ProcessElement(ctx context.Context, _ int, lines, reports func(*[]byte) bool) ([]byte, error) {
	joined := transforms.Sorted(reports)
	if f.Stripes > 1 {
		var err error
		if joined, err = joinReports(joined); err != nil {
			return nil, fault.Wrap(fault.Internal, err)
		}
	}
	if err := transforms.StoreLines(ctx, f.State.Reports, joined); err != nil {
		return nil, fault.Wrap(fault.Internal, err)
	}
	index := bytes.Join(transforms.Sorted(lines), []byte("\n"))
	return nil, fault.Wrap(fault.Internal, storage.WriteState(ctx, f.State.Sum, index))
}

// readIndex returns the stored runs in the order of their keys. There must be n parts, one for each key.
func readIndex(index []byte, n int) ([]storedRun, error) {
	runs, err := parseIndex(index)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(runs, func(a, b storedRun) int { return cmp.Compare(a.Key, b.Key) })
	next := 0
	for _, run := range runs {
		if run.Key != next {
			return nil, fmt.Errorf("gram: part %d of the sum is missing, or arrived twice; run again without --resume", next)
		}
		next = run.end()
	}
	if next != n {
		return nil, fmt.Errorf("gram: %d parts of the sum arrived, want %d; run again without --resume", next, n)
	}
	return runs, nil
}

func parseIndex(index []byte) (runs []storedRun, err error) {
	for line := range bytes.Lines(index) {
		var run storedRun
		if err := json.Unmarshal(line, &run); err != nil {
			return nil, fmt.Errorf("gram: index of the sum: %w", err)
		}
		if err := run.valid(); err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// end returns the key after the last part.
func (run storedRun) end() int { return run.Key + len(run.At) - 1 }

// valid returns an error unless the run can be read.
func (run storedRun) valid() error {
	ok := len(run.At) > 1 && run.At[0] >= 0
	for i := 1; ok && i < len(run.At); i++ {
		ok = run.At[i]-run.At[i-1] > checksumBytes
	}
	if !ok || run.At[len(run.At)-1]-run.At[0] > maxRun {
		return fmt.Errorf("gram: the index of the sum is damaged at part %d; run again without --resume", run.Key)
	}
	return nil
}

// maxRun bounds the bytes of a run.
const maxRun = 1 << 28

// buffers holds memory for runs, which have similar sizes.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// each reads the run and calls f with each part, which is valid only during the call.
func (run storedRun) each(ctx context.Context, dir string, f func(key int, part []byte) error) error {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	uri := storage.Join(dir, run.File)
	data, err := storage.ReadRange(ctx, *buf, uri, run.At[0], run.At[len(run.At)-1]-run.At[0])
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = storage.DamagedError(uri) // the index names a file that is no longer there, or no longer whole
	}
	if err != nil {
		return err
	}
	*buf = data
	for i, end := range run.At[1:] {
		part := data[run.At[i]-run.At[0] : end-run.At[0]]
		n := len(part) - checksumBytes
		if binary.LittleEndian.Uint64(part[n:]) != xxhash.Sum64(part[:n]) {
			return storage.DamagedError(uri)
		}
		if err := f(run.Key+i, part[:n]); err != nil {
			return err
		}
	}
	return nil
}

// checksumBytes is the size of a checksum. It must find damage by a power failure or a bad disk, for
// which 64 bits are enough; it takes an eighth of the time of SHA-256.
const checksumBytes = 8

// addTo adds a part, encoded, to numbers.
func addTo(dst []float64, part []byte) error {
	n, err := partLen(part)
	if err != nil {
		return err
	}
	if n != len(dst) {
		return fmt.Errorf("gram: a stored part of the sum has %d numbers, want %d; run again without --resume", n, len(dst))
	}
	addValues(dst, part)
	return nil
}

// addAll adds the parts of runs to numbers, several runs at a time, without allocating decoded
// parts. to(key) returns the numbers to which the part with this key is added.
func addAll(ctx context.Context, dir string, runs []storedRun, threads int, to func(key int) []float64) error {
	return transforms.Parallel(ctx, threads, runs, func(ctx context.Context, _ int, run storedRun) error {
		return run.each(ctx, dir, func(key int, part []byte) error { return addTo(to(key), part) })
	})
}

// loadPart returns the numbers of the part with the given key. The runs are in the order of their keys.
func loadPart(ctx context.Context, dir string, runs []storedRun, key int) (values []float64, err error) {
	i := sort.Search(len(runs), func(i int) bool { return runs[i].end() > key })
	run := runs[i]
	run.At, run.Key = run.At[key-run.Key:key-run.Key+2], key
	err = run.each(ctx, dir, func(_ int, part []byte) (err error) {
		values, err = DecodePart(part)
		return err
	})
	return values, err
}

// runsOf cuts the parts of a stripe into runs. A run has parts of one fold that take at most
// ridge.MaxPartBytes in memory, or one larger part.
func runsOf(shape ridge.Shape, s ridge.Stripe) (runs []ridge.Stripe) {
	n := shape.NumParts()
	size := 0 // of the run in memory
	for key := s.First; key < s.End; key++ {
		bytes := 8 * shape.PartLen(key%n)
		size += bytes
		if key == s.First || key%n == 0 || size > ridge.MaxPartBytes {
			runs, size = append(runs, ridge.Stripe{First: key}), bytes
		}
		runs[len(runs)-1].End = key + 1
	}
	return runs
}

// storeRuns writes runs to one file, whose name begins with name. It encodes them on several threads.
func storeRuns(
	ctx context.Context, dir, name string, runs []ridge.Stripe, threads int, values func(key int) []float64,
) ([]storedRun, error) {
	out := make([]storedRun, len(runs))
	file := name + "-" + rand.Text()
	_, err := storage.CreateState(ctx, storage.Join(dir, file), func(w io.Writer) error {
		end := int64(0)
		bufs := make([][]byte, min(max(1, threads), len(runs)))
		for first := 0; first < len(runs); first += len(bufs) {
			batch := runs[first:min(first+len(bufs), len(runs))]
			parallel.Each(len(batch), threads, func(_, i int) {
				out[first+i] = storedRun{Key: batch[i].First, File: file}
				bufs[i], out[first+i].At, _ = appendRun(bufs[i][:0], batch[i], func(key int) ([]float64, error) {
					return values(key), nil
				})
			})
			for i := range batch {
				if _, err := w.Write(bufs[i]); err != nil {
					return err
				}
				at := out[first+i].At
				for k := range at {
					at[k] += end
				}
				end = at[len(at)-1]
			}
		}
		return nil
	})
	return out, err
}

// appendRun appends the parts of a run to buf, and returns where they begin and end.
func appendRun(buf []byte, run ridge.Stripe, values func(key int) ([]float64, error)) ([]byte, []int64, error) {
	at := []int64{int64(len(buf))}
	for key := run.First; key < run.End; key++ {
		v, err := values(key)
		if err != nil {
			return nil, nil, err
		}
		buf = withChecksum(appendPart(buf, v), len(buf))
		at = append(at, int64(len(buf)))
	}
	return buf, at, nil
}

// withChecksum appends the checksum of buf[from:].
func withChecksum(buf []byte, from int) []byte {
	return binary.LittleEndian.AppendUint64(buf, xxhash.Sum64(buf[from:]))
}

package gram

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

func init() { beam.RegisterDoFn(reflect.TypeFor[*mergeFn]()) }

// Merge adds the runs of the same parts from all readers, and stores the results in the directory of
// the State. It returns a line of JSON for each stored run.
func Merge(s beam.Scope, sc transforms.Scan, st State, runs beam.PCollection) beam.PCollection {
	s = s.Scope("gram.Merge")
	return beam.ParDo(s, &mergeFn{Fn: transforms.Fn{Scan: sc}, Dir: st.Dir}, beam.GroupByKey(s, runs))
}

type mergeFn struct {
	transforms.Fn
	Dir string
}

func (f *mergeFn) ProcessElement(ctx context.Context, key int, lines func(*[]byte) bool) ([]byte, error) {
	m := f.Worker.NewMeter()
	line, err := f.merge(ctx, m, key, transforms.Sorted(lines))
	m.Commit(ctx)
	return line, fault.Wrap(fault.Internal, err)
}

// merge adds the runs that the lines describe. It leaves the run of a single reader, and stored rows, where they are.
func (f *mergeFn) merge(ctx context.Context, meter *transforms.Meter, key int, lines [][]byte) ([]byte, error) {
	runs := make([]storedRun, len(lines))
	for i, line := range lines {
		err := json.Unmarshal(line, &runs[i])
		if err == nil {
			err = runs[i].valid()
		}
		if err != nil {
			return nil, fmt.Errorf("gram: part %d of a reader: %w", key, err)
		}
	}
	if len(runs) == 1 || runs[0].Rows {
		return bytes.Join(lines, []byte("\n")), nil
	}
	merging := meter.Clock(transforms.MergeTime)
	sum, err := f.add(ctx, runs)
	merging()
	if err != nil {
		return nil, err
	}
	defer meter.Clock(transforms.StoreTime)()
	return storeRun(ctx, f.Dir, ridge.Stripe{First: key, End: runs[0].end()}, func(k int) ([]float64, error) {
		return sum[k-key], nil
	})
}

// add returns the sums of the parts of the runs. It reads several runs at a time.
func (f *mergeFn) add(ctx context.Context, runs []storedRun) ([][]float64, error) {
	sum := make([][]float64, len(runs[0].At)-1)
	var mu sync.Mutex
	most := max(1, f.Scan.Threads) + 1 // so that one is read while another is added
	err := transforms.Parallel(ctx, most, runs, func(ctx context.Context, _ int, run storedRun) error {
		if len(run.At) != len(runs[0].At) {
			return fmt.Errorf("gram: runs with one key have %d and %d parts; run again without --resume", len(run.At)-1,
				len(sum))
		}
		return run.each(ctx, f.Dir, func(key int, part []byte) (err error) {
			mu.Lock()
			defer mu.Unlock()
			if to := &sum[key-run.Key]; *to == nil {
				*to, err = DecodePart(part)
			} else {
				err = addTo(*to, part)
			}
			return err
		})
	})
	return sum, err
}

// A part of a sum is a slice of whole numbers in float64. Parts with the same key are added element
// by element, which is exact and so independent of the order. The encoding of a part is a byte with
// the width of each number in bytes, followed by the numbers, little-endian. They are integers in
// two's complement, as wide as the largest needs, or float64 if not all are integers below 2⁵⁵.

// floatWidth is the width of numbers that are not integers.
const floatWidth = 8

// widthOf returns how many bytes each of the numbers takes.
func widthOf(values []float64) int {
	var set uint64 // bits that differ from the sign bit in set number
	for len(values) >= 4 {
		v := (*[4]float64)(values)
		i0, i1, i2, i3 := int64(v[0]), int64(v[1]), int64(v[2]), int64(v[3])
		if float64(i0) != v[0] || float64(i1) != v[1] || float64(i2) != v[2] || float64(i3) != v[3] {
			return floatWidth
		}
		set |= uint64(i0^i0>>63) | uint64(i1^i1>>63) | uint64(i2^i2>>63) | uint64(i3^i3>>63)
		values = values[4:]
	}
	for _, v := range values {
		i := int64(v)
		if float64(i) != v {
			return floatWidth
		}
		set |= uint64(i ^ i>>63)
	}
	return min(bits.Len64(set)/8+1, floatWidth) // with a bit for the sign
}

// EncodePart returns the encoding of the whole numbers of a part.
func EncodePart(values []float64) []byte { return appendPart(nil, values) }

// appendPart appends the encoding of a part to buf.
func appendPart(buf []byte, values []float64) []byte {
	width := widthOf(values)
	begin, size := len(buf), 1+width*len(values)
	out := slices.Grow(buf, size+8)[:begin+size+8] // numbers are written 8 bytes at a time
	out[begin] = byte(width)
	at := out[begin+1:]
	if width == 4 { // the usual width, of sums over some thousand rows
		for len(values) >= 4 && len(at) >= 16 {
			v, to := (*[4]float64)(values), (*[16]byte)(at)
			binary.LittleEndian.PutUint32(to[:4], uint32(int64(v[0])))
			binary.LittleEndian.PutUint32(to[4:8], uint32(int64(v[1])))
			binary.LittleEndian.PutUint32(to[8:12], uint32(int64(v[2])))
			binary.LittleEndian.PutUint32(to[12:], uint32(int64(v[3])))
			values, at = values[4:], at[16:]
		}
	}
	for _, v := range values {
		n := uint64(int64(v))
		if width == floatWidth {
			n = math.Float64bits(v)
		}
		binary.LittleEndian.PutUint64(at, n)
		at = at[width:]
	}
	return out[:begin+size]
}

// partLen returns the number of numbers in an encoded part.
func partLen(data []byte) (int, error) {
	if len(data) == 0 || data[0] == 0 || data[0] > floatWidth || (len(data)-1)%int(data[0]) != 0 {
		return 0, errors.New("gram: a part of a sum is damaged")
	}
	return (len(data) - 1) / int(data[0]), nil
}

// eachValue calls f with all numbers of a part.
func eachValue(data []byte, f func(i int, v float64)) {
	width, data := int(data[0]), data[1:]
	if width == floatWidth {
		for i := range len(data) / floatWidth {
			f(i, math.Float64frombits(binary.LittleEndian.Uint64(data[floatWidth*i:])))
		}
		return
	}
	shift := 64 - 8*width
	for i := range len(data) / width {
		if len(data) < 8 { // near the end
			data = append(make([]byte, 0, 8), data...)[:8]
		}
		f(i, float64(int64(binary.LittleEndian.Uint64(data)<<shift)>>shift))
		data = data[width:]
	}
}

// addValues adds the numbers of a part to dst, which must have the same length.
func addValues(dst []float64, data []byte) {
	if data[0] != 4 {
		eachValue(data, func(i int, v float64) { dst[i] += v })
		return
	}
	data = data[1:]
	for len(dst) >= 4 && len(data) >= 16 {
		to, from := (*[4]float64)(dst), (*[16]byte)(data)
		to[0] += float64(int32(binary.LittleEndian.Uint32(from[:4])))
		to[1] += float64(int32(binary.LittleEndian.Uint32(from[4:8])))
		to[2] += float64(int32(binary.LittleEndian.Uint32(from[8:12])))
		to[3] += float64(int32(binary.LittleEndian.Uint32(from[12:])))
		dst, data = dst[4:], data[16:]
	}
	for i := range dst {
		dst[i] += float64(int32(binary.LittleEndian.Uint32(data[4*i:])))
	}
}

// DecodePart reads what EncodePart returns.
func DecodePart(data []byte) ([]float64, error) {
	n, err := partLen(data)
	if err != nil {
		return nil, err
	}
	values := make([]float64, n)
	eachValue(data, func(i int, v float64) { values[i] = v })
	return values, nil
}

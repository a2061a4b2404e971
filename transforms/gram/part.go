// Package gram holds the pass that sums the second moments of features, fold by fold, the
// merging of those sums, and the solve that computes weights or components from them.
package gram

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

func init() {
	beam.RegisterType(reflect.TypeOf((*Part)(nil)).Elem())
	beam.RegisterCoder(reflect.TypeOf((*Part)(nil)).Elem(), encodePart, decodePart)
	beam.RegisterType(reflect.TypeOf((*addPartsFn)(nil)).Elem())
}

// Part is a part of a sum: whole numbers in float64. Parts with the same key are added
// element by element, which is exact and so independent of the order.
type Part struct {
	Values []float64
	shared bool // Values belong to an element that the runner holds
}

// encodePart writes the numbers in 4 bytes each if they all fit, else in 8:
// little-endian, after a byte that says which.
func encodePart(p Part) []byte {
	width := 4
	for _, v := range p.Values {
		if v != float64(int32(v)) {
			width = 8
			break
		}
	}
	out := make([]byte, 1, 1+width*len(p.Values))
	out[0] = byte(width)
	if width == 4 {
		for _, v := range p.Values {
			out = binary.LittleEndian.AppendUint32(out, uint32(int32(v)))
		}
		return out
	}
	for _, v := range p.Values {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
	}
	return out
}

func decodePart(data []byte) (Part, error) {
	n, err := partLen(data)
	if err != nil {
		return Part{}, err
	}
	values := make([]float64, n)
	decodeValues(values, data)
	return Part{Values: values}, nil
}

// partLen returns how many numbers an encoded part has.
func partLen(data []byte) (int, error) {
	if len(data) == 0 || data[0] != 4 && data[0] != 8 || (len(data)-1)%int(data[0]) != 0 {
		return 0, errors.New("gram: a part of a sum is damaged")
	}
	return (len(data) - 1) / int(data[0]), nil
}

// decodeValues decodes all numbers of a part into dst.
func decodeValues(dst []float64, data []byte) {
	width, data := int(data[0]), data[1:]
	for i := range dst {
		if width == 4 {
			dst[i] = float64(int32(binary.LittleEndian.Uint32(data[4*i:])))
		} else {
			dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
		}
	}
}

// Merge adds the parts with the same key, from all lanes.
func Merge(s beam.Scope, sc transforms.Scan, parts beam.PCollection) beam.PCollection {
	s = s.Scope("gram.Merge")
	return beam.CombinePerKey(s, &addPartsFn{Fn: transforms.Fn{Scan: sc}}, parts)
}

type addPartsFn struct {
	transforms.Fn
	meter *transforms.Meter // of all bundles, so that fractions of a millisecond add up
}

// Setup finds the worker.
func (f *addPartsFn) Setup() {
	f.Fn.Setup()
	f.meter = f.Worker.NewMeter()
}

func (f *addPartsFn) CreateAccumulator() Part { return Part{} }

func (f *addPartsFn) AddInput(ctx context.Context, acc, in Part) (Part, error) {
	return f.MergeAccumulators(ctx, acc, in)
}

// MergeAccumulators uses the first part as it is, and copies it only to add a second one:
// with one lane nothing is copied.
func (f *addPartsFn) MergeAccumulators(ctx context.Context, a, b Part) (Part, error) {
	switch {
	case len(b.Values) == 0:
		return a, nil
	case len(a.Values) == 0:
		return Part{Values: b.Values, shared: true}, nil
	case len(a.Values) != len(b.Values):
		return a, fault.Of(fault.Internal, fmt.Errorf("gram: parts with one key have %d and %d numbers", len(a.Values), len(b.Values)))
	}
	defer f.meter.Commit(ctx)
	defer f.meter.Clock(transforms.MergeTime)()
	if a.shared {
		a = Part{Values: append([]float64(nil), a.Values...)}
	}
	for i, v := range b.Values {
		a.Values[i] += v
	}
	return a, nil
}

func (f *addPartsFn) ExtractOutput(acc Part) Part { return acc }

package rows

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/models/folds"
	"github.com/bochner-ml/bochner/transforms/gram"
)

func init() {
	beam.RegisterType(reflect.TypeFor[Part]())
	beam.RegisterCoder(reflect.TypeFor[Part](), encodePart, decodePart)
	beam.RegisterType(reflect.TypeFor[Count]())
	beam.RegisterCoder(reflect.TypeFor[Count](), encodeCount, decodeCount)
	beam.RegisterType(reflect.TypeFor[addPartsFn]())
	beam.RegisterType(reflect.TypeFor[addCountsFn]())
}

// Part is a part of the sums of some rows: whole numbers, as float64. Parts with the same key are
// added number by number, which is exact in any order. Elements must not be changed.
type Part struct {
	Values []float64
	own    bool // Values belong to an accumulator
}

func encodePart(p Part) []byte { return gram.EncodePart(p.Values) }

func decodePart(data []byte) (Part, error) {
	values, err := gram.DecodePart(data)
	return Part{Values: values}, err
}

// addPartsFn adds parts.
type addPartsFn struct{}

func (addPartsFn) CreateAccumulator() Part { return Part{} }

func (f addPartsFn) AddInput(a, b Part) (Part, error) { return f.MergeAccumulators(a, b) }

// MergeAccumulators copies the first part only to add a second one.
func (addPartsFn) MergeAccumulators(a, b Part) (Part, error) {
	switch {
	case len(b.Values) == 0:
		return a, nil
	case len(a.Values) == 0:
		return Part{Values: b.Values}, nil
	case len(a.Values) != len(b.Values):
		return a, fmt.Errorf("rows: parts with one key have %d and %d numbers", len(a.Values), len(b.Values))
	}
	if !a.own {
		a = Part{append([]float64(nil), a.Values...), true}
	}
	for i, v := range b.Values {
		a.Values[i] += v
	}
	return a, nil
}

func (addPartsFn) ExtractOutput(a Part) Part { return Part{Values: a.Values} }

// Count says what sums do not: how many rows of a window were read, and how many were rejected.
type Count struct {
	Read     int64   `json:"read"`
	Rejected int64   `json:"rejected"`
	Classes  []int64 `json:"classes,omitempty"` // rows of each class
	// Copies are rows that are counted apart from the sums, because the recipe says that they are
	// frequent; as folds.AppendContents encodes them.
	Copies []byte `json:"copies,omitempty"`
}

func encodeCount(c Count) ([]byte, error) { return json.Marshal(c) }

func decodeCount(data []byte) (c Count, err error) { return c, json.Unmarshal(data, &c) }

// addCountsFn adds counts.
type addCountsFn struct{}

func (addCountsFn) CreateAccumulator() Count { return Count{} }

func (f addCountsFn) AddInput(a, b Count) (Count, error) { return f.MergeAccumulators(a, b) }

func (addCountsFn) MergeAccumulators(a, b Count) (Count, error) {
	sum := Count{Read: a.Read + b.Read, Rejected: a.Rejected + b.Rejected, Classes: make([]int64, max(len(a.Classes), len(b.Classes)))}
	for _, classes := range [][]int64{a.Classes, b.Classes} {
		for c, n := range classes {
			sum.Classes[c] += n
		}
	}
	if len(a.Copies) == 0 || len(b.Copies) == 0 {
		sum.Copies = append(a.Copies, b.Copies...)
		return sum, nil
	}
	x, err := folds.DecodeContents(a.Copies)
	if err != nil {
		return a, err
	}
	y, err := folds.DecodeContents(b.Copies)
	if err != nil {
		return a, err
	}
	if x, err = folds.AddContents(x, y, 1); err != nil {
		return a, err
	}
	sum.Copies = folds.AppendContents(nil, x)
	return sum, nil
}

func (addCountsFn) ExtractOutput(c Count) Count { return c }

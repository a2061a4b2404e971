package rows

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/transforms/gram"
)

// A result is encoded, where a runner does not fuse the steps of a transform, as its fields in
// order: texts and lists after their length as a uvarint, numbers little-endian.
func encodeResult(r result) (b []byte, err error) {
	for _, text := range []string{r.Key, r.Class, r.Model, r.Reason} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	for _, list := range [][]float64{r.Values, r.Losses} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, v := range list {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	for _, list := range [][]float32{r.Scores, r.Probabilities, r.Features} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, v := range list {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	if r.row != nil {
		var row bytes.Buffer
		err = beam.NewElementEncoder(reflect.TypeOf(r.row)).Encode(r.row, &row)
		r.Row = row.Bytes()
	}
	return append(binary.AppendUvarint(b, uint64(len(r.Row))), r.Row...), err
}

var errDamaged = errors.New("rows: a result is damaged")

func decodeResult(b []byte) (r result, err error) {
	length := func(size int) (n int) {
		v, k := binary.Uvarint(b)
		if k <= 0 || v > uint64(len(b)-k)/uint64(size) {
			b, err = nil, errDamaged
			return 0
		}
		b = b[k:]
		return int(v)
	}
	for _, text := range []*string{&r.Key, &r.Class, &r.Model, &r.Reason} {
		n := length(1)
		*text, b = string(b[:n]), b[n:]
	}
	for _, list := range []*[]float64{&r.Values, &r.Losses} {
		if n := length(8); n > 0 {
			*list = make([]float64, n)
			for i := range *list {
				(*list)[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
			}
			b = b[8*n:]
		}
	}
	for _, list := range []*[]float32{&r.Scores, &r.Probabilities, &r.Features} {
		if n := length(4); n > 0 {
			*list = make([]float32, n)
			for i := range *list {
				(*list)[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
			}
			b = b[4*n:]
		}
	}
	if n := length(1); n > 0 {
		r.Row, b = bytes.Clone(b[:n]), b[n:]
	}
	if err == nil && len(b) > 0 {
		err = errDamaged
	}
	return r, err
}

// encodeSummed encodes, where a runner does not fuse the steps of Sum and Store, a rejected row, or the
// count of rows and the parts of their sums, each after its length.
func encodeSummed(x summed) ([]byte, error) {
	if x.Rejected != nil {
		b, err := encodeResult(result{Prediction: Prediction{Key: x.Rejected.Key}, Reason: x.Rejected.Reason})
		return append([]byte{'r'}, b...), err
	}
	b, err := encodeCount(x.Count)
	b = append(binary.AppendUvarint([]byte{'s'}, uint64(len(b))), b...)
	for _, values := range x.Parts {
		part := gram.EncodePart(values)
		b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
	}
	return b, err
}

func decodeSummed(b []byte) (x summed, err error) {
	if len(b) == 0 || b[0] != 'r' && b[0] != 's' {
		return x, errDamaged
	}
	if b[0] == 'r' {
		r, err := decodeResult(b[1:])
		x.Rejected = &Rejected{r.Key, r.Reason}
		return x, err
	}
	next := func() (data []byte) {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) {
			b, err = nil, errDamaged
			return nil
		}
		data, b = b[k:k+int(n)], b[k+int(n):]
		return data
	}
	b = b[1:]
	data := next()
	if err == nil {
		x.Count, err = decodeCount(data)
	}
	for len(b) > 0 && err == nil {
		var values []float64
		if values, err = gram.DecodePart(next()); err == nil {
			x.Parts = append(x.Parts, values)
		}
	}
	return x, err
}

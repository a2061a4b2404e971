package rows

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/transforms/gram"
)

// Results and sums are encoded where a runner does not fuse the steps of a transform.

// Code codes the fields of a result.
func (r *result) Code(c *wire.Coder) {
	for _, text := range []*string{&r.Key, &r.Class, &r.Model, &r.Reason} {
		c.Text(text, math.MaxInt32)
	}
	for _, list := range []*[]float64{&r.Values, &r.Losses} {
		wire.Each(c, list, math.MaxInt32, func(v *float64) { c.Float64(v) })
	}
	for _, list := range []*[]float32{&r.Scores, &r.Probabilities, &r.Features} {
		wire.Each(c, list, math.MaxInt32, func(v *float32) { c.Float32(v) })
	}
	c.Bytes(&r.Row, math.MaxInt32)
}

func encodeResult(r result) (b []byte, err error) {
	if r.row != nil {
		var row bytes.Buffer
		err = beam.NewElementEncoder(reflect.TypeOf(r.row)).Encode(r.row, &row)
		r.Row = row.Bytes()
	}
	return wire.Marshal(&r), err
}

func decodeResult(b []byte) (r result, err error) {
	err = wire.Unmarshal(&r, b)
	return r, err
}

// Code codes a rejected row, or the count of rows and the parts of their sums.
func (x *summed) Code(c *wire.Coder) {
	wire.Optional(c, &x.Rejected, func(r *Rejected) {
		c.Text(&r.Key, math.MaxInt32)
		c.Text(&r.Reason, math.MaxInt32)
	})
	if x.Rejected != nil {
		return
	}
	count, _ := json.Marshal(x.Count)
	if c.Bytes(&count, math.MaxInt32); c.Reading() {
		c.Check(json.Unmarshal(count, &x.Count) == nil)
	}
	wire.Each(c, &x.Parts, math.MaxInt32, func(values *[]float64) {
		part := gram.EncodePart(*values)
		if c.Bytes(&part, math.MaxInt32); c.Reading() {
			var err error
			*values, err = gram.DecodePart(part)
			c.Check(err == nil)
		}
	})
}

func encodeSummed(x summed) ([]byte, error) { return wire.Marshal(&x), nil }

func decodeSummed(b []byte) (x summed, err error) {
	err = wire.Unmarshal(&x, b)
	return x, err
}

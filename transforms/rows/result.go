package rows

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/exec"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/bochner-ml/bochner/io/records"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/transforms/fault"
	"github.com/bochner-ml/bochner/transforms/gram"
)

func init() {
	for _, t := range []reflect.Type{reflect.TypeFor[Row](), reflect.TypeFor[Prediction](), reflect.TypeFor[Features](),
		reflect.TypeFor[Rejected](), reflect.TypeFor[result]()} {
		beam.RegisterType(t)
	}
	beam.RegisterCoder(reflect.TypeFor[result](), encodeResult, decodeResult)
	beam.RegisterFunction(splitPredictions)
	beam.RegisterFunction(splitFeatures)
	beam.RegisterDoFn(reflect.TypeFor[*pairFn]())
	exec.RegisterEmitter(reflect.TypeFor[func(result)](), func(n exec.ElementProcessor) exec.ReusableEmitter {
		return &emitter[result]{next: n, place: func(r *result) **place { return &r.at }}
	})
}

// result is the outcome of one row: a prediction, features, losses, or the reason why there is none.
type result struct {
	Prediction
	Features []float32
	Losses   []float64
	Reason   string // why there is neither
	Row      []byte // the element, encoded, where a runner does not fuse the steps

	row any    // the element, if it is wanted
	at  *place // of the row; nil for the element that is being processed
}

// place is where an element is in a collection.
type place struct {
	pane    beam.PaneInfo
	windows []beam.Window
	time    beam.EventTime
}

// emitter emits each element at its own place: window, timestamp and pane. Beam's own emitters use the windows
// of the element that is being processed and, at the end of a bundle, the global window at time zero.
type emitter[T any] struct {
	next    exec.ElementProcessor
	ctx     context.Context
	current place
	place   func(*T) **place // of an element
}

// Init sets the place of the element that is being processed.
func (e *emitter[T]) Init(ctx context.Context, pane typex.PaneInfo, windows []typex.Window,
	time typex.EventTime) error {
	e.ctx, e.current = ctx, place{pane, windows, time}
	return nil
}

// Value returns the function that DoFns get.
func (e *emitter[T]) Value() any { return e.emit }

func (e *emitter[T]) emit(x T) {
	at := &e.current
	if p := e.place(&x); *p != nil {
		at, *p = *p, nil
	}
	if err := e.next.ProcessElement(e.ctx, &exec.FullValue{Pane: at.pane, Windows: at.windows, Timestamp: at.time,
		Elm: x}); err != nil {
		panic(err) // as Beam's emitters do; the runner finds the error with the next step
	}
}

func splitPredictions(r result, use func(Prediction), reject func(Rejected)) {
	if r.Reason != "" {
		reject(Rejected{r.Key, r.Reason})
		return
	}
	use(r.Prediction)
}

func splitFeatures(r result, use func(Features), reject func(Rejected)) {
	if r.Reason != "" {
		reject(Rejected{r.Key, r.Reason})
		return
	}
	use(Features{Key: r.Key, Values: r.Features, Model: r.Model})
}

// pairFn pairs rows with their predictions.
type pairFn struct {
	Type beam.EncodedType

	decoder beam.ElementDecoder
}

func (f *pairFn) ProcessElement(r result, use func(beam.X, Prediction), reject func(Rejected)) (err error) {
	if r.Reason != "" {
		reject(Rejected{r.Key, r.Reason})
		return nil
	}
	if r.row == nil {
		if f.decoder == nil {
			f.decoder = beam.NewElementDecoder(f.Type.T)
		}
		if r.row, err = f.decoder.Decode(bytes.NewReader(r.Row)); err != nil {
			return fault.Wrap(fault.Internal, err)
		}
	}
	use(r.row, r.Prediction)
	return nil
}

// Results and sums are encoded where a runner does not fuse the steps of a transform.

// Code implements wire.Coded.
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

// Code implements wire.Coded.
func (x *summed) Code(c *wire.Coder) {
	wire.Optional(c, &x.Rejected, func(r *Rejected) {
		c.Text(&r.Key, math.MaxInt32)
		c.Text(&r.Reason, math.MaxInt32)
	})
	if x.Rejected != nil {
		return
	}
	count, _ := json.Marshal(x.Count)
	c.Bytes(&count, math.MaxInt32)
	if c.Reading() {
		c.Check(json.Unmarshal(count, &x.Count) == nil)
	}
	wire.Each(c, &x.Parts, math.MaxInt32, func(values *[]float64) {
		part := gram.EncodePart(*values)
		c.Bytes(&part, math.MaxInt32)
		if c.Reading() {
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

// collector collects the elements of a bundle until they fill a block.
type collector struct {
	items []reflect.Value
	keys  []string
	at    []*place

	rowType reflect.Type  // of the last row
	record  *records.Type // for this type
}

// add adds a row with its place. The key is nil if the row has its own.
func (c *collector) add(key, row any, at *place) error {
	v := reflect.ValueOf(row)
	if t := v.Type(); t != c.rowType {
		record, err := records.TypeOf(t)
		if err != nil {
			return err
		}
		c.record, c.rowType = record, t
	}
	text := ""
	if key != nil {
		text = records.Text(reflect.ValueOf(key))
	} else {
		text = c.record.Key(v)
	}
	// Consecutive elements often have the same place.
	if n := len(c.at); n > 0 && same(c.at[n-1], at) {
		at = c.at[n-1]
	}
	c.items, c.keys, c.at = append(c.items, v), append(c.keys, text), append(c.at, at)
	return nil
}

// same reports whether two places are in the same single window.
func same(a, b *place) bool {
	return a.time == b.time && a.pane == b.pane && a.windows[0].Equals(b.windows[0])
}

// reset forgets all rows.
func (c *collector) reset() {
	clear(c.items) // so that they can be freed
	clear(c.at)
	c.items, c.keys, c.at = c.items[:0], c.keys[:0], c.at[:0]
}

// placeIn returns the place of an element that is processed for one window.
func placeIn(pane beam.PaneInfo, w beam.Window, time beam.EventTime) *place {
	return &place{pane, []beam.Window{w}, time}
}

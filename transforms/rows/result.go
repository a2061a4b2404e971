package rows

import (
	"bytes"
	"context"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/exec"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"

	"github.com/bochner-ml/bochner/transforms"
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

	bundle beam.ElementDecoder
}

func (f *pairFn) ProcessElement(r result, use func(beam.X, Prediction), reject func(Rejected)) (err error) {
	if r.Reason != "" {
		reject(Rejected{r.Key, r.Reason})
		return nil
	}
	if r.row == nil {
		if f.bundle == nil {
			f.bundle = beam.NewElementDecoder(f.Type.T)
		}
		if r.row, err = f.bundle.Decode(bytes.NewReader(r.Row)); err != nil {
			return transforms.NewFault(transforms.InternalFault, err)
		}
	}
	use(r.row, r.Prediction)
	return nil
}

package transforms

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/transforms/fault"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[*sumFn]())
	beam.RegisterType(reflect.TypeFor[mergeSumsFn]())
}

// Accumulator adds the rows of a reader to the small sum of a pass.
type Accumulator struct {
	Sum   wire.Coded
	Label dataset.Label // as Reader.Each takes it
	Add   BlockFunc
	// Done, unless nil, is called after each shard. It may change the report.
	Done func(*dataset.Report) error
}

// sumKind is a kind of pass that ends in one small sum.
type sumKind struct {
	sum   func(ctx context.Context, f Fn, rt *sdf.LockRTracker, reader int, emit, report func([]byte)) error
	merge func(a, b []byte) ([]byte, error)
}

// sumKinds are the registered kinds, by the names of their types, such as "survey.Profile".
var sumKinds = map[string]sumKind{}

// Mergeable is a pointer to a sum that can be encoded and merged.
type Mergeable[S any] interface {
	*S
	wire.Coded
	Merge(*S)
}

// RegisterSum registers a kind of pass for Sum; call it in init. A pass P has a sum S. begin returns the
// accumulator of a reader.
func RegisterSum[S, P any, K interface {
	*P
	AnyPass
}, M Mergeable[S]](begin func(context.Context, *Reader, *P) (Accumulator, error)) {
	kind := reflect.TypeFor[P]().String()
	if _, exists := sumKinds[kind]; exists {
		panic("transforms: sum " + kind + " is registered twice")
	}
	sumKinds[kind] = sumKind{
		sum: func(ctx context.Context, f Fn, rt *sdf.LockRTracker, reader int, emit, report func([]byte)) error {
			return RunReader(ctx, f, reader, rt, func(r *Reader, p *P) error {
				a, err := begin(ctx, r, p)
				if err != nil {
					return err
				}
				add := func(state []byte) error {
					var s S
					if err := wire.Unmarshal(M(&s), state); err != nil {
						return err
					}
					a.Sum.(M).Merge(&s)
					return nil
				}
				return a.run(ctx, r, K(p).Common(), add, emit, report)
			})
		},
		merge: merge[S, M],
	}
}

func merge[S any, M Mergeable[S]](a, b []byte) ([]byte, error) {
	var x, y S
	if err := wire.Unmarshal(M(&x), a); err != nil {
		return nil, err
	}
	if err := wire.Unmarshal(M(&y), b); err != nil {
		return nil, err
	}
	M(&x).Merge(&y)
	return wire.Marshal(M(&x)), nil
}

// Sum reads all rows with a pass of a registered kind, which sc.Pass stores. It returns the encoded sum of the pass,
// and a dataset.Report in JSON for each shard.
func Sum(s beam.Scope, sc Scan, p AnyPass) (sum, reports beam.PCollection) {
	kind := reflect.TypeOf(p).Elem().String()
	if _, ok := sumKinds[kind]; !ok {
		panic("transforms: no sum of a " + kind + " is registered")
	}
	s = s.Scope(kind)
	sums, reports := sc.Apply2(s, &sumFn{Splittable: Splittable{Fn{Scan: sc}}, Kind: kind})
	return beam.Combine(s, &mergeSumsFn{Kind: kind}, sums), reports
}

// sumFn reads the reader's shards into one sum, which it emits as one element.
type sumFn struct {
	Splittable
	Kind string
}

func (f *sumFn) ProcessElement(ctx context.Context, rt *sdf.LockRTracker, reader int, emit, report func([]byte)) error {
	return sumKinds[f.Kind].sum(ctx, f.Fn, rt, reader, emit, report)
}

// run reads the shards of the reader into the sum. It emits the sum, and a report for each shard. add
// adds an encoded sum to the sum.
func (a Accumulator) run(ctx context.Context, r *Reader, p *Pass, add func([]byte) error,
	emit, report func([]byte)) error {
	process := func(at profile.ShardStart, b *rowio.Block) error {
		begun, mapped := time.Now(), r.values[MapTime].Load()
		err := a.Add(at, b)
		r.Add(AddTime, int64(time.Since(begun))-(r.values[MapTime].Load()-mapped))
		return err
	}
	saver := &sumSaver{sum: a.Sum, add: add}
	r.Saver = saver
	done := func(r *dataset.Report) error {
		if a.Done != nil {
			if err := a.Done(r); err != nil {
				return err
			}
		}
		saver.reports = append(saver.reports, *r)
		return nil
	}
	if err := r.Each(ctx, p, a.Label, process, done); err != nil {
		return err
	}
	emit(wire.Marshal(a.Sum))
	return EmitJSON(report, saver.reports...)
}

// sumSaver stores a small sum in a checkpoint.
type sumSaver struct {
	sum     wire.Coded
	add     func([]byte) error
	reports []dataset.Report
}

// savedSum is its state.
type savedSum struct {
	Sum     []byte           `json:"sum"`
	Reports []dataset.Report `json:"reports"`
}

// Save implements Saver.
func (s *sumSaver) Save(context.Context, bool) ([]byte, error) {
	return json.Marshal(savedSum{wire.Marshal(s.sum), s.reports})
}

// Restore implements Saver.
func (s *sumSaver) Restore(_ context.Context, state []byte) ([]dataset.Report, error) {
	var saved savedSum
	if err := json.Unmarshal(state, &saved); err != nil {
		return nil, err
	}
	if err := s.add(saved.Sum); err != nil {
		return nil, err
	}
	s.reports = saved.Reports
	return saved.Reports, nil
}

// mergeSumsFn merges encoded sums. There are only as many as readers, so it may decode them at every step.
type mergeSumsFn struct{ Kind string }

func (f *mergeSumsFn) CreateAccumulator() []byte { return nil }

func (f *mergeSumsFn) AddInput(acc, in []byte) ([]byte, error) { return f.MergeAccumulators(acc, in) }

func (f *mergeSumsFn) MergeAccumulators(a, b []byte) ([]byte, error) {
	if len(a) == 0 || len(b) == 0 {
		return append(a[:len(a):len(a)], b...), nil
	}
	kind, ok := sumKinds[f.Kind]
	if !ok {
		return nil, fault.Wrap(fault.Internal, fmt.Errorf("transforms: unknown kind of sum %q", f.Kind))
	}
	out, err := kind.merge(a, b)
	return out, fault.Wrap(fault.Internal, err)
}

func (f *mergeSumsFn) ExtractOutput(acc []byte) []byte { return acc }

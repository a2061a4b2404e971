package rows

import (
	"context"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/exec"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"

	"github.com/bochner-ml/bochner/io/records"
	block "github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/folds"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
	"github.com/bochner-ml/bochner/transforms/gram"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[*sumFn]())
	beam.RegisterDoFn(reflect.TypeFor[*sumKeyedFn]())
	beam.RegisterDoFn(reflect.TypeFor[*sumShardFn]())
	beam.RegisterDoFn(reflect.TypeFor[*shardFn]())
	beam.RegisterType(reflect.TypeFor[summed]())
	beam.RegisterCoder(reflect.TypeFor[summed](), encodeSummed, decodeSummed)
	beam.RegisterFunction(splitSums)
	exec.RegisterEmitter(reflect.TypeFor[func(summed)](), func(n exec.ElementProcessor) exec.ReusableEmitter {
		return &emitter[summed]{next: n, place: func(r *summed) **place { return &r.at }}
	})
}

// Sums are the exact sums of rows, window by window.
type Sums struct {
	// Parts is a PCollection<KV<int, Part>> with one element for each part of the sums of each
	// fold. The keys count the parts of one fold after those of another.
	Parts beam.PCollection
	// Counts is a PCollection<Count> of one element, in each window that has rows.
	Counts beam.PCollection
	// Rejected is a PCollection<Rejected> of the rows that could not be used.
	Rejected beam.PCollection
}

// Sum sums rows by a recipe, in each window by themselves. The rows are as those of Predict, with
// labels, and with weights if the recipe has any. Sums of all rows at once and of windows that are
// added up later (bochner fit --sums) are the same, bit for bit, as those of the rows in files. It
// panics if elements cannot be rows.
func Sum(s beam.Scope, r Recipe, rows beam.PCollection) Sums {
	s = s.Scope("rows.Sum")
	if r.Digest == "" {
		panic("rows: no recipe: make it with ReadRecipe")
	}
	f := sumFn{Fn: fn(r.Dir, r.Threads), Recipe: r}
	pairs := keyed(rows)
	var all beam.PCollection
	switch {
	case r.Shards > 0 && pairs:
		panic("rows: a Recipe with Shards takes rows that have their keys as a field")
	case r.Shards > 0:
		all = beam.ParDo(s, &sumShardFn{f}, beam.GroupByKey(s, beam.ParDo(s, &shardFn{Shards: r.Shards}, rows)))
	case pairs:
		all = beam.ParDo(s, &sumKeyedFn{f}, rows)
	default:
		all = beam.ParDo(s, &f, rows)
	}
	parts, counts, rejected := beam.ParDo3(s, splitSums, all)
	return Sums{
		Parts:    beam.CombinePerKey(s, addPartsFn{}, parts),
		Counts:   beam.DropKey(s, beam.CombinePerKey(s, addCountsFn{}, counts)),
		Rejected: rejected,
	}
}

// summed is a part of the sums of rows; or their Count, or a rejected row.
type summed struct {
	Key      int
	Part     Part
	Count    *Count
	Rejected *Rejected

	at *place
}

func splitSums(x summed, part func(int, Part), count func(int, Count), reject func(Rejected)) {
	switch {
	case x.Rejected != nil:
		reject(*x.Rejected)
	case x.Count != nil:
		count(0, *x.Count)
	default:
		part(x.Key, x.Part)
	}
}

// maxWindows is how many windows a bundle sums at a time: each has sums of its own.
const maxWindows = 2

// sumFn sums the rows of a bundle by their windows.
type sumFn struct {
	transforms.Fn
	Recipe Recipe

	bundle *summing
}

// sumKeyedFn is sumFn for pairs of a key and a row.
type sumKeyedFn struct{ sumFn }

// sumShardFn is sumFn for groups of rows.
type sumShardFn struct{ sumFn }

// summing is the state of a sumFn.
type summing struct {
	recipe *recipe
	reader *records.Reader
	lane   *transforms.Lane
	open   []*windowed // the least recently used first
}

// windowed are the rows of a window.
type windowed struct {
	collector
	window beam.Window
	sums   *gram.Summer
	count  Count
	block  block.Block
}

// Setup reads the recipe, unless the process has it.
func (f *sumFn) Setup(ctx context.Context) error {
	f.Fn.Setup()
	r, err := f.Recipe.load(ctx, f.Worker)
	if err != nil {
		return err
	}
	f.bundle = &summing{recipe: r, reader: r.reader()}
	return nil
}

func (f *sumFn) StartBundle(_ context.Context, _ func(summed)) {
	f.bundle.open = nil // of a bundle that failed
	f.bundle.lane = transforms.NewLane(f.Fn, 0)
}

func (f *sumFn) ProcessElement(_ context.Context, pane beam.PaneInfo, w beam.Window, at beam.EventTime, row beam.X, emit func(summed)) error {
	return f.add(nil, row, in(pane, w, at), emit)
}

func (f *sumKeyedFn) ProcessElement(_ context.Context, pane beam.PaneInfo, w beam.Window, at beam.EventTime, key beam.X, row beam.Y, emit func(summed)) error {
	return f.add(key, row, in(pane, w, at), emit)
}

func (f *sumShardFn) ProcessElement(_ context.Context, pane beam.PaneInfo, w beam.Window, at beam.EventTime, _ int, rows func(*beam.X) bool, emit func(summed)) error {
	var row beam.X
	for rows(&row) {
		if err := f.add(nil, row, in(pane, w, at), emit); err != nil {
			return err
		}
	}
	return nil
}

func (f *sumFn) add(key, row any, at *place, emit func(summed)) error {
	w, err := f.window(at.windows[0], emit)
	if err != nil {
		return err
	}
	if err := w.add(key, row, at); err != nil {
		return err
	}
	if len(w.items) < block.Rows(f.bundle.recipe.Input.Dim) {
		return nil
	}
	return f.flush(w, emit)
}

// window returns the rows of a window.
func (f *sumFn) window(of beam.Window, emit func(summed)) (*windowed, error) {
	open := f.bundle.open
	last := len(open) - 1
	if last >= 0 && open[last].window.Equals(of) {
		return open[last], nil
	}
	i := slices.IndexFunc(open, func(w *windowed) bool { return w.window.Equals(of) })
	var w *windowed
	switch {
	case i >= 0:
		w = open[i]
		open = slices.Delete(open, i, i+1)
	default:
		if len(open) == maxWindows {
			if err := f.close(open[0], emit); err != nil {
				return nil, err
			}
			open = slices.Delete(open, 0, 1)
		}
		s, err := gram.NewSummer(f.bundle.lane, &f.bundle.recipe.pass)
		if err != nil {
			return nil, fault.Of(fault.Internal, err)
		}
		w = &windowed{window: of, sums: s}
		if v := f.bundle.recipe.classes(); v != nil {
			w.count.Classes = make([]int64, len(v.Classes))
		}
	}
	f.bundle.open = append(open, w)
	return w, nil
}

// flush adds the rows that were collected to the sums of their window.
func (f *sumFn) flush(w *windowed, emit func(summed)) error {
	defer w.reset()
	if len(w.items) == 0 {
		return nil
	}
	b, l, used := f.bundle, f.bundle.lane, len(w.items)
	reject := func(i int, reason string) {
		emit(summed{Rejected: &Rejected{w.keys[i], reason}, at: w.at[i]})
		used--
	}
	stop := l.Clock(transforms.ReadTime)
	err := b.reader.Read(&w.block, w.items, reject)
	stop()
	if err != nil {
		return fault.Of(fault.Data, err)
	}
	b.check(&w.block, reject)
	for _, y := range w.block.Y {
		if len(w.count.Classes) > 0 {
			w.count.Classes[int(y)]++
		}
	}
	w.count.Read += int64(len(w.items))
	w.count.Rejected += int64(len(w.items) - used)
	l.Add(transforms.RowsRead, int64(len(w.items)))
	l.Add(transforms.RowsUsed, int64(used))
	l.Add(transforms.RowsSetAside, int64(len(w.items)-used))
	if w.block.N == 0 {
		return nil
	}
	return fault.Of(fault.Internal, w.sums.Add(&w.block))
}

// check removes the rows of a block whose labels or weights the recipe does not take, and the weights
// if all must be equal.
func (s *summing) check(b *block.Block, reject func(item int, reason string)) {
	several, weighted := len(s.recipe.TargetGrid) > 1, len(b.Weights) > 0
	if b.N == 0 || !several && !weighted {
		return
	}
	kept, labels := 0, len(b.Y)/b.N
	for i := range b.N {
		var weight []float64
		if weighted {
			weight = b.Weights[i : i+1]
		}
		if reason := s.recipe.check(b.Y[i*labels:(i+1)*labels], weight); reason != "" {
			reject(int(b.Lines[i])-1, reason)
			continue
		}
		copy(b.Row(kept), b.Row(i))
		copy(b.Y[kept*labels:], b.Y[i*labels:(i+1)*labels])
		copy(b.Weights[min(kept, len(b.Weights)):], weight)
		b.Lines[kept] = b.Lines[i]
		kept++
	}
	b.N, b.X, b.Y, b.Lines = kept, b.X[:kept*b.D], b.Y[:kept*labels], b.Lines[:kept]
	if b.Weights = b.Weights[:min(kept, len(b.Weights))]; s.recipe.Rule.Weights == nil {
		b.Weights = b.Weights[:0]
	}
}

// close emits the sums of a window.
func (f *sumFn) close(w *windowed, emit func(summed)) error {
	if err := f.flush(w, emit); err != nil {
		return err
	}
	at := in(typex.NoFiringPane(), w.window, w.window.MaxTimestamp())
	copies := w.sums.Parts(func(key int, values []float64) {
		emit(summed{Key: key, Part: Part{Values: values}, at: at})
	})
	w.count.Copies = nil
	if len(copies) > 0 {
		w.count.Copies = folds.AppendContents(nil, copies)
	}
	emit(summed{Count: &w.count, at: at})
	return nil
}

func (f *sumFn) FinishBundle(ctx context.Context, emit func(summed)) error {
	for _, w := range f.bundle.open {
		if err := f.close(w, emit); err != nil {
			return err
		}
	}
	f.bundle.open = nil
	f.bundle.lane.Commit(ctx)
	return nil
}

// shardFn gives rows the numbers of shards, one after the other.
type shardFn struct {
	Shards int

	bundle int // the next number
}

func (f *shardFn) ProcessElement(row beam.X) (int, beam.X) {
	f.bundle = (f.bundle + 1) % f.Shards
	return f.bundle, row
}

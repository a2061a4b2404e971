package rows

import (
	"context"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/exec"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"

	"github.com/bochner-ml/bochner/io/records"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/profile"
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
	beam.RegisterFunction(rejectedOf)
	exec.RegisterEmitter(reflect.TypeFor[func(summed)](), func(n exec.ElementProcessor) exec.ReusableEmitter {
		return &emitter[summed]{next: n, place: func(r *summed) **place { return &r.at }}
	})
}

// Sums are the exact sums of rows, window by window. Store stores them.
type Sums struct {
	// Rejected is a PCollection<Rejected> of the rows that could not be used.
	Rejected beam.PCollection

	all beam.PCollection // PCollection<summed>
}

// Sum sums rows by a recipe, each window separately. The rows are as for Predict, with
// labels, and with weights if the recipe has any. Sums of all rows at once and of windows that are
// added up later (bochner fit --sums) are the same, bit for bit, as sums of the rows in files. It
// panics if r.Dir is "", if elements cannot be rows, or if r.Shards is given and elements are pairs of
// a key and a row.
//
// Rows of any number of windows may come in any order. A bundle holds the sums of several windows
// in up to 128 MiB, of one window if those are larger, and up to 64 MiB of rows of other windows.
func Sum(s beam.Scope, r Recipe, rows beam.PCollection) Sums {
	s = s.Scope("rows.Sum")
	if r.Dir == "" {
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
	return Sums{Rejected: beam.ParDo(s, rejectedOf, all), all: all}
}

// summed is the sums of some rows of a window, or a rejected row.
type summed struct {
	Count    count
	Parts    [][]float64 // by their keys, one fold after another
	Rejected *Rejected

	at *place
}

func rejectedOf(x summed, emit func(Rejected)) {
	if x.Rejected != nil {
		emit(*x.Rejected)
	}
}

// Limits of the memory of a bundle.
const (
	maxOpen    = 128 << 20 // bytes for sums, unless one window's are larger
	maxWaiting = 64 << 20  // bytes for rows that wait to be summed
	maxRows    = 1 << 20   // of an emitted element, which holds a hash of each
)

// sumFn sums the rows of a bundle by their windows.
type sumFn struct {
	transforms.Fn
	Recipe Recipe

	sums *windowSums
}

// sumKeyedFn is sumFn for pairs of a key and a row.
type sumKeyedFn struct{ sumFn }

// sumShardFn is sumFn for groups of rows.
type sumShardFn struct{ sumFn }

// windowSums is the state of a sumFn.
type windowSums struct {
	collector
	recipe       *recipe
	records      *records.Reader
	task         transforms.Task
	block        rowio.Block
	kept         rowio.Block // scratch
	windows      map[beam.Window]*windowed
	open         []*windowed // windows with sums, the least recently used first
	openLimit    int         // largest number of open windows
	waiting      int         // bytes of the waiting rows
	waitingLimit int         // largest number of these bytes
	rowLimit     int64       // a window with as many rows is emitted
}

// windowed are the rows of a window.
type windowed struct {
	window beam.Window
	count  count
	rows   rowio.Block       // that wait to be summed
	sums   *gram.Accumulator // nil if the window is not open
}

func (f *sumFn) StartBundle(_ context.Context, _ func(summed)) {
	f.sums = nil // the last bundle may have failed
}

func (f *sumFn) ProcessElement(
	ctx context.Context, pane beam.PaneInfo, w beam.Window, at beam.EventTime, row beam.X, emit func(summed),
) error {
	return f.add(ctx, nil, row, placeIn(pane, w, at), emit)
}

func (f *sumKeyedFn) ProcessElement(
	ctx context.Context, pane beam.PaneInfo, w beam.Window, at beam.EventTime, key beam.X, row beam.Y, emit func(summed),
) error {
	return f.add(ctx, key, row, placeIn(pane, w, at), emit)
}

func (f *sumShardFn) ProcessElement(
	ctx context.Context, pane beam.PaneInfo, w beam.Window, at beam.EventTime, _ int, rows func(*beam.X) bool,
	emit func(summed),
) error {
	var row beam.X
	for rows(&row) {
		if err := f.add(ctx, nil, row, placeIn(pane, w, at), emit); err != nil {
			return err
		}
	}
	return nil
}

// begin reads the recipe, unless the process has it. A recipe that the same pipeline makes may not
// exist before the first rows arrive.
func (f *sumFn) begin(ctx context.Context) error {
	r, err := f.Recipe.load(ctx, f.Worker)
	if err != nil {
		return err
	}
	s := &windowSums{recipe: r, records: r.reader(), task: transforms.NewTask(f.Fn),
		windows: map[beam.Window]*windowed{}, waitingLimit: maxWaiting, rowLimit: maxRows}
	shape := r.pass.Shape(r.Dim)
	s.openLimit = max(1, int(maxOpen/(int64(r.Rule.Folds)*shape.PartBytes(0, shape.NumParts()))))
	f.sums = s
	return nil
}

func (f *sumFn) add(ctx context.Context, key, row any, at *place, emit func(summed)) error {
	if f.sums == nil {
		if err := f.begin(ctx); err != nil {
			return err
		}
	}
	s := f.sums
	if err := s.add(key, row, at); err != nil {
		return err
	}
	if len(s.items) < rowio.RowsPerBlock(s.recipe.Input.Dim) {
		return nil
	}
	return s.read(emit)
}

// windowOf returns the window of an item.
func (s *windowSums) windowOf(item int) *windowed {
	key := s.at[item].windows[0]
	w := s.windows[key]
	if w == nil {
		w = &windowed{window: key}
		w.rows.Reset(s.recipe.Input.Dim)
		if v := s.recipe.classes(); v != nil {
			w.count.Classes = make([]int64, len(v.Classes))
		}
		s.windows[key] = w
	}
	return w
}

// read reads the collected rows and gives them to their windows.
func (s *windowSums) read(emit func(summed)) error {
	defer s.reset()
	if len(s.items) == 0 {
		return nil
	}
	used := len(s.items)
	for i := range s.items {
		s.windowOf(i).count.Read++
	}
	reject := func(i int, reason string) {
		emit(summed{Rejected: &Rejected{s.keys[i], reason}, at: s.at[i]})
		s.windowOf(i).count.Rejected++
		used--
	}
	stop := s.task.Clock(transforms.ReadTime)
	err := s.records.Read(&s.block, s.items, reject)
	stop()
	if err != nil {
		return fault.Wrap(fault.Data, err)
	}
	s.check(reject)
	s.task.Add(transforms.RowsRead, int64(len(s.items)))
	s.task.Add(transforms.RowsUsed, int64(used))
	s.task.Add(transforms.RowsSetAside, int64(len(s.items)-used))
	for i, line := range s.block.Lines {
		if err := s.give(s.windowOf(int(line)-1), i); err != nil {
			return err
		}
	}
	for _, w := range slices.Clone(s.open) {
		if w.count.Read < s.rowLimit {
			continue
		}
		if err := s.close(w, emit); err != nil {
			return err
		}
	}
	for s.waiting > s.waitingLimit {
		fullest := (*windowed)(nil)
		for _, w := range s.windows {
			if fullest == nil || w.rows.N > fullest.rows.N {
				fullest = w
			}
		}
		if err := s.sum(fullest, emit); err != nil {
			return err
		}
	}
	return nil
}

// give gives row i of the block to its window. The window sums a full block if it is open or can be opened.
func (s *windowSums) give(w *windowed, i int) error {
	to := &w.rows
	if w.count.Classes != nil {
		w.count.Classes[int(s.block.Labels(i)[0])]++
	}
	to.Append(&s.block, i)
	s.waiting += bytesOf(len(to.X)/to.N, len(to.Y)/to.N, len(to.Weights)/to.N)
	if to.N%rowio.RowsPerBlock(to.D) > 0 || w.sums == nil && len(s.open) >= s.openLimit {
		return nil
	}
	return s.addWaiting(w)
}

// bytesOf returns the size in bytes of waiting rows, given how many values, labels and weights they have.
func bytesOf(x, y, weights int) int { return 4*x + 8*(y+weights) }

// sum adds the waiting rows of a window to its sums. To open the window, it closes the least recently used one if the
// limit of open windows is reached.
func (s *windowSums) sum(w *windowed, emit func(summed)) error {
	if w.sums == nil && len(s.open) >= s.openLimit {
		if err := s.close(s.open[0], emit); err != nil {
			return err
		}
	}
	return s.addWaiting(w)
}

// addWaiting adds the waiting rows of a window to its sums. It opens the window if it is not open.
func (s *windowSums) addWaiting(w *windowed) error {
	if i := slices.Index(s.open, w); i >= 0 {
		s.open = slices.Delete(s.open, i, i+1)
	} else {
		s, err := gram.NewAccumulator(s.task, 0, &s.recipe.pass)
		if err != nil {
			return fault.Wrap(fault.Internal, err)
		}
		w.sums = s
	}
	s.open = append(s.open, w)
	r, k := &w.rows, len(w.rows.Y)/max(w.rows.N, 1)
	for i, step := 0, rowio.RowsPerBlock(r.D); i < r.N; i += step {
		end := min(i+step, r.N)
		piece := &rowio.Block{N: end - i, D: r.D, X: r.X[i*r.D : end*r.D], Y: r.Y[i*k : end*k]}
		if len(r.Weights) > 0 {
			piece.Weights = r.Weights[i:end]
		}
		if err := w.sums.Add(piece); err != nil {
			return fault.Wrap(fault.Internal, err)
		}
	}
	s.waiting -= bytesOf(len(r.X), len(r.Y), len(r.Weights))
	if r.N > rowio.RowsPerBlock(r.D) {
		*r = rowio.Block{} // an open window needs less memory for waiting rows
	}
	r.Reset(s.recipe.Input.Dim)
	return nil
}

// check removes the rows of the block whose labels or weights the recipe does not allow. It also removes
// the weights if all of them must be equal.
func (s *windowSums) check(reject func(item int, reason string)) {
	rows, kept := &s.block, &s.kept
	if rows.N == 0 || len(s.recipe.TargetGrid) < 2 && len(rows.Weights) == 0 {
		return
	}
	kept.Reset(rows.D)
	for i := range rows.N {
		var weight []float64
		if len(rows.Weights) > 0 {
			weight = rows.Weights[i : i+1]
		}
		if reason := s.recipe.check(rows.Labels(i), weight); reason != "" {
			reject(int(rows.Lines[i])-1, reason)
			continue
		}
		kept.Append(rows, i)
		kept.Lines = append(kept.Lines, rows.Lines[i])
	}
	if s.recipe.Rule.Weights == nil {
		kept.Weights = kept.Weights[:0]
	}
	s.block, s.kept = s.kept, s.block
}

// close emits the sums of a window, and forgets it.
func (s *windowSums) close(w *windowed, emit func(summed)) error {
	if w.sums == nil || w.rows.N > 0 {
		if err := s.sum(w, emit); err != nil {
			return err
		}
	}
	x := summed{Count: w.count, at: placeIn(typex.NoFiringPane(), w.window, w.window.MaxTimestamp())}
	copies := w.sums.Parts(func(_ int, values []float64) { x.Parts = append(x.Parts, values) })
	x.Count.RowHashes = w.sums.TakeRowHashes()
	if len(copies) > 0 {
		x.Count.Copies = profile.AppendFrequentRows(nil, copies)
	}
	s.open = slices.DeleteFunc(s.open, func(o *windowed) bool { return o == w })
	delete(s.windows, w.window)
	emit(x)
	return nil
}

func (f *sumFn) FinishBundle(ctx context.Context, emit func(summed)) error {
	s := f.sums
	if s == nil {
		return nil
	}
	if err := s.read(emit); err != nil {
		return err
	}
	for len(s.windows) > 0 {
		w := s.next()
		if err := s.close(w, emit); err != nil {
			return err
		}
	}
	f.sums = nil
	s.task.Commit(ctx)
	return nil
}

// next returns the next window to close, preferably an open one.
func (s *windowSums) next() *windowed {
	for _, w := range s.windows {
		if w.sums != nil || len(s.open) == 0 {
			return w
		}
	}
	return nil
}

// shardFn assigns rows to shards in turn.
type shardFn struct {
	Shards int

	last int
}

func (f *shardFn) ProcessElement(row beam.X) (int, beam.X) {
	f.last = (f.last + 1) % f.Shards
	return f.last, row
}

package transforms

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime/debug"
	"sync/atomic"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
)

func init() {
	beam.RegisterDoFn(reflect.TypeOf((*laneFn)(nil)))
	beam.RegisterDoFn(reflect.TypeOf((*dealFn)(nil)))
}

// Scan tells a pass's DoFns what to read. It is a field of each of them.
type Scan struct {
	Pass    string // URI of the pass file
	Lanes   int    // how many lanes share the shards
	Threads int    // of the algebra on one block

	SolveThreads int // of the one worker that solves; 0 is all of its cores

	// Spread makes lanes the elements of one chain, which the runner deals to its
	// workers, in place of a chain for each. A runner that has every worker take
	// part in every chain, as Flink does, gives the beginnings of all chains to the
	// same one otherwise.
	Spread bool
}

// lanes begins the chains of the graph: one for each lane, with its number as its
// only element, or one with all numbers.
func (sc Scan) lanes(s beam.Scope) []beam.PCollection {
	n := sc.Lanes
	if sc.Spread {
		n = 1
	}
	out := make([]beam.PCollection, n)
	for k := range out {
		out[k] = sc.deal(s, beam.ParDo(s, &laneFn{Lane: k}, beam.Impulse(s)))
	}
	return out
}

// deal has the runner deal the numbers of all lanes to its workers behind the
// beginning of the one chain that there is of spread lanes.
func (sc Scan) deal(s beam.Scope, begin beam.PCollection) beam.PCollection {
	if !sc.Spread {
		return begin
	}
	return beam.Reshuffle(s, beam.ParDo(s, &dealFn{Lanes: sc.Lanes}, begin))
}

// apply has the DoFn work on every lane, and returns its output.
func (sc Scan) apply(s beam.Scope, fn any) beam.PCollection {
	var out []beam.PCollection
	for _, lane := range sc.lanes(s) {
		out = append(out, beam.ParDo(s, fn, lane))
	}
	return beam.Flatten(s, out...)
}

// apply2 is apply for a DoFn of two outputs.
func (sc Scan) apply2(s beam.Scope, fn any) (first, second beam.PCollection) {
	var firsts, seconds []beam.PCollection
	for _, lane := range sc.lanes(s) {
		a, b := beam.ParDo2(s, fn, lane)
		firsts, seconds = append(firsts, a), append(seconds, b)
	}
	return beam.Flatten(s, firsts...), beam.Flatten(s, seconds...)
}

type laneFn struct{ Lane int }

func (f *laneFn) ProcessElement([]byte) int { return f.Lane }

type dealFn struct{ Lanes int }

func (f *dealFn) ProcessElement(_ int, emit func(int)) {
	for k := range f.Lanes {
		emit(k)
	}
}

// RowsRead counts the rows that workers in this process have read, for progress.
var RowsRead atomic.Int64

// shards returns the shards of one lane: the largest first, each to the lane
// that has least to read. Which lane reads what changes no result.
func (sc Scan) shards(p *Pass, lane int) []dataset.Shard {
	var mine []dataset.Shard
	for _, i := range dataset.Balance(len(p.Shards), sc.Lanes, func(i int) int64 { return p.Data.Bytes(p.Shards[i]) })[lane] {
		mine = append(mine, p.Shards[i])
	}
	return mine
}

// each reads the lane's shards and calls fold with every block of their rows, in
// order; the block is fold's until it returns. While fold works the next block is
// read. Labels become numbers through label, which a goroutine of its own calls;
// a nil label leaves them unread. When a shard is through, done gets its report.
// The error is that of fold or done: what is wrong with the data stands in the
// reports.
func (sc Scan) each(ctx context.Context, p *Pass, lane int, label dataset.Label, fold func(dataset.Shard, *rows.Block) error, done func(dataset.Report) error) error {
	for shard, source := range p.Data.Ahead(ctx, sc.shards(p, lane)) {
		report, err := sc.read(ctx, p, shard, source, label, fold)
		if err != nil {
			return err
		}
		if err := done(report); err != nil {
			return err
		}
	}
	return nil
}

// read reads one shard, from the source that dataset.Ahead gives with it.
func (sc Scan) read(ctx context.Context, p *Pass, shard dataset.Shard, source *dataset.Source, label dataset.Label, fold func(dataset.Shard, *rows.Block) error) (report dataset.Report, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const ahead = 2 // blocks: one being read, one being folded
	free, full := make(chan *rows.Block, ahead), make(chan *rows.Block, ahead)
	for range ahead {
		free <- new(rows.Block)
	}
	result := make(chan dataset.Report, 1)
	panicked := make(chan string, 1)
	go func() {
		defer close(full)
		defer func() {
			// A panic of this goroutine would end the process and every other job in it.
			if r := recover(); r != nil {
				panicked <- fmt.Sprintf("%v\n%s", r, debug.Stack())
			}
		}()
		r := p.Data.ReadFrom(ctx, source, shard, label, p.Mode)
		defer r.Close()
		if p.Predict != nil && p.Predict.Lines {
			r.KeepLines()
		}
		for {
			var b *rows.Block
			select {
			case b = <-free:
			case <-ctx.Done():
				return
			}
			stop := clock(reading)
			more := r.Next(b)
			stop()
			if !more {
				break
			}
			full <- b
		}
		result <- r.Report()
	}()
	for b := range full {
		if err == nil {
			if err = fold(shard, b); err != nil {
				cancel()
			}
			RowsRead.Add(int64(b.N))
		}
		free <- b
	}
	if err != nil {
		return report, err
	}
	select {
	case msg := <-panicked:
		panic(msg)
	case report = <-result:
		return report, nil
	default:
		return report, ctx.Err()
	}
}

// tally is what a pass that ends in one small sum does with the rows of a lane.
type tally struct {
	sum   encoding.BinaryMarshaler
	label dataset.Label                          // as each takes it
	fold  func(dataset.Shard, *rows.Block) error // as each calls it
}

// sum reads the lane's shards into the sum that begin makes, emits it encoded, and
// reports on each shard.
func (sc Scan) sum(ctx context.Context, lane int, emit, report func([]byte), begin func(*Pass) (tally, error)) error {
	p, err := loadPass(ctx, sc.Pass)
	if err != nil {
		return asFault(Internal, err)
	}
	g, err := begin(p)
	if err != nil {
		return asFault(Internal, err)
	}
	if err := sc.each(ctx, p, lane, g.label, g.fold, reporter(report)); err != nil {
		return asFault(Internal, err)
	}
	data, err := g.sum.MarshalBinary()
	if err != nil {
		return asFault(Internal, err)
	}
	emit(data)
	return nil
}

// reporter returns the done function of each that emits reports as JSON.
func reporter(emit func([]byte)) func(dataset.Report) error {
	return func(r dataset.Report) error {
		data, err := json.Marshal(r)
		if err == nil {
			emit(data)
		}
		return err
	}
}

package transforms

import (
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[*readerFn]())
	beam.RegisterDoFn(reflect.TypeFor[*elementsFn]())
}

// Scan tells the DoFns of a pass what to read. Each of them has it as a field.
type Scan struct {
	Pass    string // URI of the pass file
	Readers int    // how many readers share the shards
	// Stripes is the number of stripes into which sums are cut; 0 means 1. Every reader is read once
	// for each stripe, so that a worker holds the sums of only one.
	Stripes int `json:",omitempty"`
	Threads int // for the algebra on one block

	SolveThreads int // for the one worker that solves; 0 means all of its cores

	// Checkpoint is the least time between two checkpoints of a reader; 0 is CheckpointInterval, and
	// a negative one stores a checkpoint after every shard.
	Checkpoint time.Duration

	// Reshuffle makes readers the elements of one chain, which the runner distributes to its
	// workers, instead of giving each reader a chain. It is for runners such as Flink, in
	// which every worker takes part in every chain: they would start all chains on one worker.
	Reshuffle bool

	// Split lets the runner give shards of a reader to another worker while the reader is read; see Splittable.
	Split bool
	// Cuts holds, for each element, the shards in ascending order at which the reader is cut from
	// the beginning, because an earlier run has stored checkpoints of the pieces.
	Cuts map[int][]int `json:",omitempty"`
}

func (sc Scan) interval() time.Duration {
	if sc.Checkpoint != 0 {
		return sc.Checkpoint
	}
	return CheckpointInterval
}

// assign returns the shards of each reader.
func (sc Scan) assign(d *dataset.Dataset, shards []dataset.Shard) [][]dataset.Shard {
	readers := make([][]dataset.Shard, sc.Readers)
	for k, mine := range dataset.Balance(len(shards), sc.Readers, func(i int) int64 { return d.Bytes(shards[i]) }) {
		for _, i := range mine {
			readers[k] = append(readers[k], shards[i])
		}
	}
	return readers
}

// stripes returns the number of stripes.
func (sc Scan) stripes() int { return max(1, sc.Stripes) }

// readerOf returns the reader and the stripe of an element. The stripes of a reader are consecutive
// elements, which a chain processes one after the other.
func (sc Scan) readerOf(element int) (reader, stripe int) {
	return element / sc.stripes(), element % sc.stripes()
}

// Chains creates the chains of the graph: one for each reader, or one for all readers. Their elements are
// the numbers of readers, or of their stripes.
func (sc Scan) Chains(s beam.Scope) []beam.PCollection {
	n := sc.Readers
	if sc.Reshuffle {
		n = 1
	}
	out := make([]beam.PCollection, n)
	for k := range out {
		out[k] = sc.Begin(s, beam.ParDo(s, &readerFn{Reader: k}, beam.Impulse(s)))
	}
	return out
}

// Begin returns the elements of a chain, given the number of its reader. With Reshuffle there is one chain,
// and the runner distributes the elements of all readers to its workers.
func (sc Scan) Begin(s beam.Scope, reader beam.PCollection) beam.PCollection {
	switch {
	case sc.Reshuffle:
		return beam.Reshuffle(s, beam.ParDo(s, &elementsFn{Elements: sc.Readers * sc.stripes()}, reader))
	case sc.stripes() > 1:
		return beam.ParDo(s, &elementsFn{Elements: sc.Stripes}, reader)
	}
	return reader
}

// Apply runs the DoFn on every reader, and returns its output.
func (sc Scan) Apply(s beam.Scope, fn any) beam.PCollection {
	var out []beam.PCollection
	for _, reader := range sc.Chains(s) {
		out = append(out, beam.ParDo(s, fn, reader))
	}
	return beam.Flatten(s, out...)
}

// Apply2 is Apply for a DoFn with two outputs.
func (sc Scan) Apply2(s beam.Scope, fn any) (first, second beam.PCollection) {
	var firsts, seconds []beam.PCollection
	for _, reader := range sc.Chains(s) {
		a, b := beam.ParDo2(s, fn, reader)
		firsts, seconds = append(firsts, a), append(seconds, b)
	}
	return beam.Flatten(s, firsts...), beam.Flatten(s, seconds...)
}

// readerFn starts a chain with the number of its reader.
type readerFn struct{ Reader int }

func (f *readerFn) ProcessElement([]byte) int { return f.Reader }

// elementsFn emits the numbers of the elements of a reader, or of all readers with Scan.Reshuffle.
type elementsFn struct{ Elements int }

func (f *elementsFn) ProcessElement(reader int, emit func(int)) {
	for k := range f.Elements {
		emit(reader*f.Elements + k)
	}
}

package transforms

import (
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
)

func init() {
	beam.RegisterDoFn(reflect.TypeOf((*laneFn)(nil)))
	beam.RegisterDoFn(reflect.TypeOf((*spreadFn)(nil)))
}

// Scan tells the DoFns of a pass what to read. Each of them has it as a field.
type Scan struct {
	Pass  string // URI of the pass file
	Lanes int    // how many lanes share the shards
	// Stripes is the number of stripes into which sums are cut; 0 means 1. Every lane is read once
	// for each stripe, so that a worker holds the sums of only one.
	Stripes int `json:",omitempty"`
	Threads int // for the algebra on one block

	SolveThreads int // for the one worker that solves; 0 means all of its cores

	// Checkpoint is the least time between two checkpoints of a lane; 0 is CheckpointInterval, and
	// a negative one stores a checkpoint after every shard.
	Checkpoint time.Duration

	// Spread makes lanes the elements of one chain, which the runner spreads over its
	// workers, instead of giving each lane a chain. It is for runners such as Flink, in
	// which every worker takes part in every chain: they would start all chains on one worker.
	Spread bool

	// Split lets the runner give a part of a lane to another worker while the lane is read; see Splittable.
	Split bool
	// Cuts holds, for each element, the shards in ascending order at which the lane is cut from
	// the beginning, because an earlier run has stored checkpoints of the pieces.
	Cuts map[int][]int `json:",omitempty"`
}

func (sc Scan) interval() time.Duration {
	if sc.Checkpoint != 0 {
		return sc.Checkpoint
	}
	return CheckpointInterval
}

// assign returns the shards of each lane.
func (sc Scan) assign(d *dataset.Dataset, shards []dataset.Shard) [][]dataset.Shard {
	lanes := make([][]dataset.Shard, sc.Lanes)
	for k, mine := range dataset.Balance(len(shards), sc.Lanes, func(i int) int64 { return d.Bytes(shards[i]) }) {
		for _, i := range mine {
			lanes[k] = append(lanes[k], shards[i])
		}
	}
	return lanes
}

// stripes returns the number of stripes.
func (sc Scan) stripes() int { return max(1, sc.Stripes) }

// laneOf returns the lane and the stripe of an element. The stripes of a lane are consecutive
// elements, which a chain processes one after the other.
func (sc Scan) laneOf(element int) (lane, stripe int) {
	return element / sc.stripes(), element % sc.stripes()
}

// Chains creates the chains of the graph: one for each lane, or one for all lanes. Their elements are
// the numbers of lanes, or of their stripes.
func (sc Scan) Chains(s beam.Scope) []beam.PCollection {
	n := sc.Lanes
	if sc.Spread {
		n = 1
	}
	out := make([]beam.PCollection, n)
	for k := range out {
		out[k] = sc.Begin(s, beam.ParDo(s, &laneFn{Lane: k}, beam.Impulse(s)))
	}
	return out
}

// Begin returns the elements of a chain, given the number of its lane. If lanes are spread, there
// is one chain, and the elements of all lanes are spread over the workers.
func (sc Scan) Begin(s beam.Scope, lane beam.PCollection) beam.PCollection {
	switch {
	case sc.Spread:
		return beam.Reshuffle(s, beam.ParDo(s, &spreadFn{Elements: sc.Lanes * sc.stripes()}, lane))
	case sc.stripes() > 1:
		return beam.ParDo(s, &spreadFn{Elements: sc.Stripes}, lane)
	}
	return lane
}

// Apply runs the DoFn on every lane, and returns its output.
func (sc Scan) Apply(s beam.Scope, fn any) beam.PCollection {
	var out []beam.PCollection
	for _, lane := range sc.Chains(s) {
		out = append(out, beam.ParDo(s, fn, lane))
	}
	return beam.Flatten(s, out...)
}

// Apply2 is Apply for a DoFn with two outputs.
func (sc Scan) Apply2(s beam.Scope, fn any) (first, second beam.PCollection) {
	var firsts, seconds []beam.PCollection
	for _, lane := range sc.Chains(s) {
		a, b := beam.ParDo2(s, fn, lane)
		firsts, seconds = append(firsts, a), append(seconds, b)
	}
	return beam.Flatten(s, firsts...), beam.Flatten(s, seconds...)
}

// laneFn starts a chain with the number of its lane.
type laneFn struct{ Lane int }

func (f *laneFn) ProcessElement([]byte) int { return f.Lane }

// spreadFn emits the numbers of the elements of a lane, or, if lanes are spread, of all.
type spreadFn struct{ Elements int }

func (f *spreadFn) ProcessElement(lane int, emit func(int)) {
	for k := range f.Elements {
		emit(lane*f.Elements + k)
	}
}

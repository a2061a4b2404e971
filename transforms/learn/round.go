// Package learn runs iterative learners, such as sgd and svm, which read the rows many times. Rounds adds the
// rounds to a pipeline. In each round, the readers distribute their rows to partitions, and each partition has an
// iterative.Worker, which learns from blocks of features (type partition). One worker then combines the partial
// results into the state of the next round. Processes cache features between rounds.
package learn

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[*roundFn]())
	beam.RegisterDoFn(reflect.TypeFor[*updateFn]())
	beam.RegisterDoFn(reflect.TypeFor[*nextFn]())
}

// Rounds runs n rounds of a learner, starting with the state in the file
// StateFile(sc.Pass, first). Each round writes its report, and the state with which the
// next one begins. A process caches up to cacheBytes bytes of features between rounds.
//
//	readers → each reader's partitions → their partial results, as files → one worker makes the next state → readers → …
func Rounds(s beam.Scope, sc transforms.Scan, first, n int, cacheBytes int64) {
	s = s.Scope("learn.Rounds")
	readers := sc.Chains(s)
	for i := range n {
		var reports []beam.PCollection
		for _, reader := range readers {
			reports = append(reports, beam.ParDo(s, &roundFn{Fn: transforms.Fn{Scan: sc}, Round: first + i,
				CacheBytes: cacheBytes}, reader))
		}
		grouped := beam.GroupByKey(s, beam.ParDo(s, transforms.OneKey, beam.Flatten(s, reports...)))
		done := beam.ParDo(s, &updateFn{Fn: transforms.Fn{Scan: sc}, Round: first + i}, grouped)
		if i == n-1 {
			return
		}
		for k := range readers {
			// Grouping keeps a runner from running all readers as one stage.
			readers[k] = sc.Begin(s, beam.ParDo(s, &nextFn{Reader: k}, beam.GroupByKey(s, beam.ParDo(s, transforms.OneKey, done))))
		}
	}
}

// nextFn begins a reader of the next round.
type nextFn struct{ Reader int }

func (f *nextFn) ProcessElement(int, func(*[]byte) bool) int { return f.Reader }

type roundFn struct {
	transforms.Fn
	Round      int
	CacheBytes int64 // largest number of bytes of cached features in a process
}

func (f *roundFn) ProcessElement(ctx context.Context, reader int, emit func([]byte)) error {
	return transforms.RunReader(ctx, f.Fn, reader, nil, func(r *transforms.Reader, p *Pass) error {
		all, err := f.run(ctx, r, p)
		if err != nil {
			return err
		}
		return transforms.EmitJSON(emit, all)
	})
}

// run processes the rows of the reader.
func (f *roundFn) run(ctx context.Context, r *transforms.Reader, p *Pass) (all readerReport, err error) {
	share := &readerRound{Reader: r, pass: p, number: f.Round, cached: cacheOf(f.Worker),
		name: p.featuresName(), cacheBytes: f.CacheBytes, slots: newSlots(max(1, f.Scan.Threads))}
	if share.round, err = p.open(ctx, f.Worker, f.Scan.Pass, f.Round); err != nil {
		return all, err
	}
	if share.m, err = f.Worker.Map(p.Recipe); err != nil {
		return all, err
	}
	if a := p.Augment; a != nil {
		if share.augmented, err = f.Worker.Map(a.Recipe); err != nil {
			return all, err
		}
	}
	size := func(i int) (n int64) {
		for _, s := range p.Assignments[i].Shards {
			n += p.Data.Bytes(s)
		}
		return n
	}
	var mine []dataset.Assignment
	for _, i := range dataset.Balance(len(p.Assignments), f.Scan.Readers, size)[r.Number] {
		mine = append(mine, p.Assignments[i])
	}
	return share.run(ctx, mine)
}

type updateFn struct {
	transforms.Fn
	Round int
}

func (f *updateFn) ProcessElement(ctx context.Context, _ int, lines func(*[]byte) bool) ([]byte, error) {
	m := f.Worker.NewMeter()
	report, err := f.update(ctx, m, transforms.Sorted(lines))
	m.Commit(ctx)
	return report, fault.Wrap(fault.Internal, err)
}

// update combines the partial results of the partitions, and writes the next state. It
// returns the report on the state with which the round began.
func (f *updateFn) update(ctx context.Context, meter *transforms.Meter, lines [][]byte) ([]byte, error) {
	defer meter.Clock(transforms.MergeTime)()
	p, err := transforms.LoadPass[Pass](ctx, f.Worker, f.Scan.Pass)
	if err != nil {
		return nil, err
	}
	round, err := p.open(ctx, f.Worker, f.Scan.Pass, f.Round)
	if err != nil {
		return nil, err
	}
	if err := f.check(p, round.Reads(), lines); err != nil {
		return nil, err
	}
	partition := 0
	state, report, err := round.Update(func() ([]byte, error) {
		if partition == p.Partitions() {
			return nil, io.EOF
		}
		partition++
		return storage.ReadState(ctx, PartialFile(f.Scan.Pass, f.Round, partition-1), transforms.MaxState)
	})
	if err != nil {
		return nil, fault.Wrap(fault.Data, err)
	}
	data, err := json.Marshal(report)
	if err != nil {
		return nil, err
	}
	// The report first: if the next state exists, the round is complete.
	if err := storage.WriteState(ctx, ReportFile(f.Scan.Pass, f.Round), data); err != nil {
		return nil, err
	}
	if err := storage.WriteState(ctx, StateFile(f.Scan.Pass, f.Round+1), state); err != nil {
		return nil, err
	}
	return data, nil
}

// check returns an error unless every partition is complete and all rows were read.
func (f *updateFn) check(p *Pass, reads bool, lines [][]byte) error {
	var all readerReport
	for _, line := range lines {
		var r readerReport
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("learn: round %d: %w", f.Round, err)
		}
		all.Reports = append(all.Reports, r.Reports...)
		all.Partitions = append(all.Partitions, r.Partitions...)
	}
	_, torn := dataset.Tile(all.Reports) // also sorts the reports, with line numbers as in the files
	if err := fault.OfReports(all.Reports); err != nil {
		return err
	}
	for _, r := range all.Reports {
		if r.Stopped && !slices.Contains(torn, r.Shard.File) {
			return fault.Wrap(fault.Data, fmt.Errorf("%s: %s", r.SetAside[0].Position(), r.SetAside[0].Reason))
		}
	}
	shards, stopped := 0, func(r dataset.Report) bool { return r.Stopped }
	for _, a := range p.Assignments {
		shards += len(a.Shards)
	}
	// Shards that were not read, because their features are cached, leave gaps.
	if len(torn) > 0 && (len(all.Reports) == shards || slices.ContainsFunc(all.Reports, stopped)) {
		return p.torn(torn[0])
	}
	rows := map[int]int64{} // by partition
	for _, of := range all.Partitions {
		rows[of.Partition] = of.Rows
	}
	if len(rows) != p.Partitions() {
		return fmt.Errorf("learn: round %d: %d of %d partitions arrived", f.Round, len(rows), p.Partitions())
	}
	n := int64(0)
	for _, k := range rows {
		n += k
	}
	if reads && n != p.Rows {
		return fault.Wrap(fault.Data,
			fmt.Errorf("learn: round %d has read %d rows, the first pass %d; have the files changed? start again when they "+
				"no longer change", f.Round, n, p.Rows))
	}
	return nil
}

// torn is the error of a round if a shard boundary of a file is invalid.
func (p *Pass) torn(file int) error {
	return fault.Wrap(fault.Data,
		fmt.Errorf("%s: a shard boundary falls inside a quoted field; compress the file, and it is read whole",
			p.Data.Files[file].Name))
}

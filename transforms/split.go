package transforms

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// Splittable is embedded in every DoFn whose elements are readers. It makes them splittable DoFns over
// the shards of a reader: while a reader is read, a runner may give shards that the reader has not begun to
// another worker, and it knows how many bytes are left.
type Splittable struct{ Fn }

// shardList lists the shards of a pass file.
type shardList struct {
	Data   dataset.Dataset `json:"data"`
	Shards []dataset.Shard `json:"shards"`

	readers [][]dataset.Shard
}

// reader returns the shards of the reader that an element stands for. It does not need Setup.
func (f *Splittable) reader(ctx context.Context, element int) (*shardList, []dataset.Shard, error) {
	uri := f.Scan.Pass
	job := worker(jobOf(uri), func(*Worker) {}) // the DoFn of the reader takes it
	list, err := cached(job, fmt.Sprint(uri, " ", f.Scan.Readers), func(list *shardList) error {
		_, err := decode(ctx, uri, list)
		list.readers = f.Scan.assign(&list.Data, list.Shards)
		return err
	})
	if err != nil {
		return nil, nil, fault.Wrap(fault.Internal, err)
	}
	number, _ := f.Scan.readerOf(element)
	return list, list.readers[number], nil
}

// CreateInitialRestriction returns the range of all shards of a reader.
func (f *Splittable) CreateInitialRestriction(ctx context.Context, element int) (offsetrange.Restriction, error) {
	_, shards, err := f.reader(ctx, element)
	return offsetrange.Restriction{End: int64(len(shards))}, err
}

// SplitRestriction cuts a reader at Scan.Cuts, where an earlier run was cut. It makes no other pieces,
// because each of them has sums of its own.
func (f *Splittable) SplitRestriction(element int, r offsetrange.Restriction) (pieces []offsetrange.Restriction) {
	for _, at := range f.Scan.Cuts[element] {
		if at := int64(at); r.Start < at && at < r.End {
			pieces = append(pieces, offsetrange.Restriction{Start: r.Start, End: at})
			r.Start = at
		}
	}
	return append(pieces, r)
}

// RestrictionSize returns the bytes of a range of a reader's shards.
func (f *Splittable) RestrictionSize(ctx context.Context, element int, r offsetrange.Restriction) (float64, error) {
	list, shards, err := f.reader(ctx, element)
	if err != nil {
		return 0, err
	}
	var n int64
	for _, s := range shards[r.Start:r.End] {
		n += list.Data.Bytes(s)
	}
	return float64(n), nil
}

// CreateTracker returns the tracker with which the runner and the reader share a range.
func (f *Splittable) CreateTracker(r offsetrange.Restriction) *sdf.LockRTracker {
	return sdf.NewLockRTracker(&tracker{Tracker: offsetrange.NewTracker(r), whole: !f.Scan.Split,
		least: f.Scan.interval()})
}

// tracker tracks a range of shards. A split has a cost, because each piece has sums of its own to
// store and merge. So the piece that is given away must last at least as long as the time between
// two checkpoints, which have a similar cost. A reader cannot be split before it has claimed a shard,
// because it first looks for a checkpoint, which must not cover more than the range.
type tracker struct {
	*offsetrange.Tracker
	whole bool          // never split
	least time.Duration // that a piece must last

	begun       time.Time // when the first shard was claimed
	first, last int64     // shards that were claimed
}

// TryClaim implements sdf.RTracker.
func (t *tracker) TryClaim(pos any) bool {
	t.last = pos.(int64)
	if t.begun.IsZero() {
		t.begun, t.first = time.Now(), t.last
	}
	return t.Tracker.TryClaim(pos)
}

// TrySplit implements sdf.RTracker.
func (t *tracker) TrySplit(fraction float64) (primary, residual any, err error) {
	rest := t.Tracker.GetRestriction().(offsetrange.Restriction)
	if t.whole || t.begun.IsZero() {
		return rest, nil, nil
	}
	given := (1 - min(max(fraction, 0), 1)) * float64(rest.End-1-t.last)
	each := time.Since(t.begun) / time.Duration(t.last-t.first+1) // at least
	if given*float64(each) < float64(t.least) {
		return rest, nil, nil
	}
	return t.Tracker.TrySplit(fraction)
}

// rest returns the range of the reader's n shards that still belongs to the reader. A split may lower its
// end, but never below a claimed shard.
func (r *Reader) rest(n int) (first, end int) {
	if r.tracker == nil {
		return 0, n
	}
	left := r.tracker.GetRestriction().(offsetrange.Restriction)
	return int(left.Start), int(left.End)
}

// claim tries to claim shard i and the shards of the range before it, and reports whether it succeeded.
// No other reader gets claimed shards. If it fails, the reader has ended.
func (r *Reader) claim(i int) bool { return r.tracker == nil || r.tracker.TryClaim(int64(i)) }

// setLeastPiece sets the time that a piece of the reader must last to be worth its cost.
func (r *Reader) setLeastPiece(d time.Duration) {
	if r.tracker == nil {
		return
	}
	r.tracker.Mu.Lock()
	defer r.tracker.Mu.Unlock()
	if t, ok := r.tracker.Rt.(*tracker); ok {
		t.least = d
	}
}

// ahead yields the shards from shard from on, as dataset.Dataset.Ahead does, as long as the reader can claim them.
func (r *Reader) ahead(ctx context.Context, p *Pass, shards []dataset.Shard, from int) iter.Seq2[dataset.Shard,
	*dataset.Source] {
	return func(yield func(dataset.Shard, *dataset.Source) bool) {
		i := from
		for shard, source := range p.Data.Ahead(ctx, shards[from:]) {
			if !r.claim(i) || !yield(shard, source) {
				return
			}
			i++
		}
	}
}

package epochs

import (
	"context"
	"errors"
	"sync"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// epoch is one reader's part of a round: it distributes the rows of its assignments to
// partitions, maps them, and gives them to the workers of the learner. As many partitions
// run at the same time as there are threads; each sees its rows in order.
type epoch struct {
	pass   *Pass
	reader *transforms.Reader
	round  iterative.Round
	number int // of the round
	m      features.Map
	// augmented is the map of rows that were changed at random; nil if none are.
	augmented  features.Map
	cached     *featureCache
	name       string                              // name of the cached features
	cacheBytes int64                               // limit for cached features in this process
	carried    func(partition int) ([]byte, error) // state that the partition's worker carries into this round
	store      func(partition int, partial, carried []byte) error
	slots      chan *slot
}

// slot is the right to compute, with the memory for it.
type slot struct{ phi, x []float32 }

func newSlots(n int) chan *slot {
	slots := make(chan *slot, n)
	for range n {
		slots <- new(slot)
	}
	return slots
}

// inSlot waits for a slot and computes in it. A panic, too, releases the slot, because
// others wait for it.
func (e *epoch) inSlot(f func(*slot) error) error {
	s := <-e.slots
	defer func() { e.slots <- s }()
	return f(s)
}

// epochReport reports on the rows of a reader.
type epochReport struct {
	Reports []dataset.Report `json:"reports,omitempty"` // none if nothing was read
	Parts   []partitionRows  `json:"parts"`
}

type partitionRows struct {
	Partition int   `json:"partition"`
	Rows      int64 `json:"rows"` // training and held-out rows
}

// run processes the rows of the assignments, as many at a time as there are threads.
func (e *epoch) run(ctx context.Context, assignments []dataset.Assignment) (all epochReport, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		turn = make(chan struct{}, cap(e.slots))
	)
	for _, a := range assignments {
		turn <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-turn }()
			var out epochReport
			failed := fault.Guard(func() (err error) { out, err = e.assignment(ctx, a); return err })
			mu.Lock()
			defer mu.Unlock()
			if failed != nil {
				if err == nil || errors.Is(err, context.Canceled) {
					err = failed
				}
				cancel()
				return
			}
			all.Reports = append(all.Reports, out.Reports...)
			all.Parts = append(all.Parts, out.Parts...)
		})
	}
	wg.Wait()
	if err == nil {
		err = ctx.Err()
	}
	return all, err
}

// errUnread means that the rows could not be read to the end; the reports say why.
var errUnread = errors.New("epochs: rows could not be read")

// assignment processes the rows of one assignment.
func (e *epoch) assignment(ctx context.Context, a dataset.Assignment) (out epochReport, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parts := make([]*partition, a.Count)
	e.cached.reserve(e.name, 0, e.cacheBytes) // so that a partition without rows is cached, too
	known := true
	for i := range parts {
		parts[i] = &partition{
			epoch: e, index: a.First + i, concurrent: a.Count, cached: e.cached.part(e.name, a.First+i),
			filled: make(chan *batch, 1), free: make(chan *batch, 4),
		}
		known = known && complete(parts[i].cached)
	}
	var wg sync.WaitGroup
	for _, p := range parts {
		wg.Go(func() {
			if err := fault.Guard(func() error { return p.run(ctx, known) }); err != nil {
				cancel(err)
				for range p.filled { // drain the channel, so that the reader does not block
				}
			}
		})
	}
	if e.round.Reads() && !known {
		if out.Reports, err = e.read(ctx, a, parts); err != nil {
			cancel(err)
		}
	}
	for _, p := range parts {
		close(p.filled)
	}
	wg.Wait()
	switch cause := context.Cause(ctx); cause {
	case nil:
	case errUnread:
		return out, nil
	default:
		return epochReport{}, cause
	}
	for _, p := range parts {
		out.Parts = append(out.Parts, partitionRows{p.index, p.rows})
	}
	return out, nil
}

// read reads the shards of an assignment, and distributes their rows to its partitions in
// turn.
func (e *epoch) read(ctx context.Context, a dataset.Assignment,
	parts []*partition) (reports []dataset.Report, err error) {
	_, out := e.m.Dims()
	k := uint64(e.pass.Folds)
	augment := e.pass.Augment != nil
	assigner := e.pass.Assigner()
	encoder, err := transforms.TargetEncoder(e.pass.Recipe)
	if err != nil {
		return nil, err
	}
	var hashes []uint64
	turn := 0
	for shard, source := range e.pass.Data.Ahead(ctx, a.Shards) {
		report, err := e.reader.Read(ctx, &e.pass.Pass, shard, source, e.pass.Target.Label(),
			func(at profile.ShardStart, b *rowio.Block) (err error) {
				if k > 0 || augment || encoder != nil {
					// Copies are counted before every shard of a cut that tiles the files.
					if hashes, err = assigner.Hashes(hashes[:0], at, b); errors.Is(err, profile.ErrUncounted) {
						return e.pass.torn(at.File)
					} else if err != nil {
						return err
					}
				}
				encoder.Block(b, hashes)
				limit := min(rowio.RowsPerBlock(b.D), rowio.RowsPerFeatureBlock(out))
				for i := range b.N {
					held := k > 0 && hashes[i]%k == 0
					var hash uint64
					if augment {
						hash = hashes[i]
					}
					if err := parts[turn].add(ctx, b, i, held, hash, limit); err != nil {
						return err
					}
					turn = (turn + 1) % len(parts)
				}
				return nil
			})
		if err != nil {
			return nil, err
		}
		reports = append(reports, report)
		if report.Fault != "" || report.Stopped {
			return reports, errUnread
		}
	}
	for _, p := range parts {
		for held := range p.filling {
			if err := p.send(ctx, held); err != nil {
				return nil, err
			}
		}
	}
	return reports, nil
}

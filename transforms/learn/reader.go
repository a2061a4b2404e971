package learn

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

// readerRound is one reader's share of a round: it distributes the rows of its assignments to
// partitions, maps them, and gives them to the workers of the learner. As many partitions
// run at the same time as there are threads; each sees its rows in order.
type readerRound struct {
	*transforms.Reader
	pass   *Pass
	round  iterative.Round
	number int // of the round
	m      features.Map
	// augmented is the map of rows that were changed at random; nil if none are.
	augmented  features.Map
	cached     *featureCache
	name       string // name of the cached features
	cacheBytes int64  // limit for cached features in this process
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
func (r *readerRound) inSlot(f func(*slot) error) error {
	s := <-r.slots
	defer func() { r.slots <- s }()
	return f(s)
}

// readerReport reports on the rows of a reader.
type readerReport struct {
	Reports []dataset.Report `json:"reports,omitempty"` // none if nothing was read
	// Partitions lists the partitions whose rows it has processed.
	Partitions []partitionRows `json:"parts"`
}

type partitionRows struct {
	Partition int   `json:"partition"`
	Rows      int64 `json:"rows"` // training and held-out rows
}

// run processes the rows of the assignments, as many at a time as there are threads.
func (r *readerRound) run(ctx context.Context, assignments []dataset.Assignment) (all readerReport, err error) {
	var mu sync.Mutex
	err = transforms.Parallel(ctx, cap(r.slots), assignments,
		func(ctx context.Context, _ int, a dataset.Assignment) error {
			out, err := r.assignment(ctx, a)
			mu.Lock()
			defer mu.Unlock()
			all.Reports = append(all.Reports, out.Reports...)
			all.Partitions = append(all.Partitions, out.Partitions...)
			return err
		})
	return all, err
}

// errUnread means that the rows could not be read to the end. The reports have the reason.
var errUnread = errors.New("learn: rows could not be read")

// assignment processes the rows of one assignment.
func (r *readerRound) assignment(ctx context.Context, a dataset.Assignment) (out readerReport, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	partitions := make([]*partition, a.Count)
	r.cached.reserve(r.name, 0, r.cacheBytes) // so that a partition without rows is cached, too
	known := true
	for i := range partitions {
		partitions[i] = &partition{
			reader: r, index: a.First + i, concurrent: a.Count, cached: r.cached.blocks(r.name, a.First+i),
			filled: make(chan *batch, 1), free: make(chan *batch, 4),
		}
		known = known && complete(partitions[i].cached)
	}
	var wg sync.WaitGroup
	for _, p := range partitions {
		wg.Go(func() {
			if err := fault.Guard(func() error { return p.run(ctx, known) }); err != nil {
				cancel(err)
				for range p.filled { // drain the channel, so that the reader does not block
				}
			}
		})
	}
	if r.round.Reads() && !known {
		if out.Reports, err = r.read(ctx, a, partitions); err != nil {
			cancel(err)
		}
	}
	for _, p := range partitions {
		close(p.filled)
	}
	wg.Wait()
	switch cause := context.Cause(ctx); cause {
	case nil:
	case errUnread:
		return out, nil
	default:
		return readerReport{}, cause
	}
	for _, p := range partitions {
		out.Partitions = append(out.Partitions, partitionRows{p.index, p.rows})
	}
	return out, nil
}

// read reads the shards of an assignment, and distributes their rows to its partitions in
// turn.
func (r *readerRound) read(ctx context.Context, a dataset.Assignment,
	partitions []*partition) (reports []dataset.Report, err error) {
	_, out := r.m.Dims()
	k := uint64(r.pass.Folds)
	assigner := r.pass.Assigner()
	encoder, err := transforms.TargetEncoder(r.pass.Recipe)
	if err != nil {
		return nil, err
	}
	var hashes, contents []uint64
	turn := 0
	for shard, source := range r.pass.Data.Ahead(ctx, a.Shards) {
		report, err := r.Read(ctx, &r.pass.Pass, shard, source, r.pass.Target.Label(),
			func(at profile.ShardStart, b *rowio.Block) (err error) {
				if k > 0 || r.pass.Augment != nil || encoder != nil {
					// Copies are counted before every shard of a cut that tiles the files.
					if hashes, err = assigner.Hashes(hashes[:0], at, b); errors.Is(err, profile.ErrUncounted) {
						return r.pass.torn(at.File)
					} else if err != nil {
						return err
					}
				}
				encoder.Block(b, hashes)
				if r.pass.Augment != nil { // each image varies in its own way, also if a rule gives many the same hash
					contents = assigner.Samples(contents, hashes, b)
				}
				limit := min(rowio.RowsPerBlock(b.D), rowio.RowsPerFeatureBlock(out))
				for i := range b.N {
					content := uint64(0)
					if len(contents) > 0 {
						content = contents[i]
					}
					if err := partitions[turn].add(ctx, b, i, k > 0 && hashes[i]%k == 0, content, limit); err != nil {
						return err
					}
					turn = (turn + 1) % len(partitions)
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
	for _, p := range partitions {
		for held := range p.filling {
			if err := p.send(ctx, held); err != nil {
				return nil, err
			}
		}
	}
	return reports, nil
}

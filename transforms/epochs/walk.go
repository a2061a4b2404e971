package epochs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/folds"
	"github.com/bochner-ml/bochner/models/rounds"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// walk is one lane's part of a round: the rows of its hands, dealt to partitions,
// mapped, and given to the workers of the learner. Partitions go on at the same
// time, as many as there are threads; each sees its rows in order.
type walk struct {
	pass  *Pass
	lane  *transforms.Lane
	round rounds.Round
	epoch int // number of the round
	m     features.Map
	// augmented is the map of rows that were changed at random; nil if none are.
	augmented features.Map
	cached    *keeper
	name      string // of the features
	keep      int64  // bytes of features that this process caches
	own       func(partition int) ([]byte, error)
	store     func(partition int, found, own []byte) error
	slots     chan *slot
}

// slot is the right to compute, with the memory that it takes.
type slot struct{ phi, x []float32 }

func newSlots(n int) chan *slot {
	slots := make(chan *slot, n)
	for range n {
		slots <- new(slot)
	}
	return slots
}

// inSlot waits for a slot and computes in it. The slot comes back even from a panic:
// others wait for it.
func (w *walk) inSlot(f func(*slot) error) error {
	s := <-w.slots
	defer func() { w.slots <- s }()
	return f(s)
}

// walked is what became of the rows of a lane.
type walked struct {
	Reports []dataset.Report `json:"reports,omitempty"` // none where nothing was read
	Parts   []walkedPart     `json:"parts"`
}

type walkedPart struct {
	Partition int   `json:"partition"`
	Rows      int64 `json:"rows"` // of both kinds
}

// hands walks over the hands, as many at a time as there are threads.
func (w *walk) hands(ctx context.Context, hands []dataset.Hand) (all walked, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		turn = make(chan struct{}, cap(w.slots))
	)
	for _, h := range hands {
		turn <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-turn }()
			var out walked
			handErr := fault.Guard(func() (err error) { out, err = w.hand(ctx, h); return err })
			mu.Lock()
			defer mu.Unlock()
			if handErr != nil {
				if err == nil || errors.Is(err, context.Canceled) {
					err = handErr
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

// errUnread says that the rows could not be read to their end; why stands in the
// reports.
var errUnread = errors.New("epochs: rows could not be read")

// hand walks over the rows of one hand.
func (w *walk) hand(ctx context.Context, h dataset.Hand) (out walked, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parts := make([]*partition, h.Count)
	w.cached.reserve(w.name, 0, w.keep) // so that a partition without rows is remembered too
	known := true
	for i := range parts {
		parts[i] = &partition{
			walk: w, number: h.First + i, beside: h.Count, before: w.cached.part(w.name, h.First+i),
			todo: make(chan *batch, 1), back: make(chan *batch, 4),
		}
		known = known && whole(parts[i].before)
	}
	var wg sync.WaitGroup
	for _, p := range parts {
		wg.Go(func() {
			if err := fault.Guard(func() error { return p.run(ctx, known) }); err != nil {
				cancel(err)
				for range p.todo { // so that the reader need not wait
				}
			}
		})
	}
	if w.round.Reads() && !known {
		if out.Reports, err = w.deal(ctx, h, parts); err != nil {
			cancel(err)
		}
	}
	for _, p := range parts {
		close(p.todo)
	}
	wg.Wait()
	switch cause := context.Cause(ctx); cause {
	case nil:
	case errUnread:
		return out, nil
	default:
		return walked{}, cause
	}
	for _, p := range parts {
		out.Parts = append(out.Parts, walkedPart{p.number, p.rows})
	}
	return out, nil
}

// batch is rows on their way to a partition.
type batch struct {
	rows  rows.Block
	hash  []uint64  // of the rows, where they are to be changed at random
	y     []float32 // labels as learners take them
	held  bool
	index int
}

// deal reads the shards of the hand and deals their rows.
func (w *walk) deal(ctx context.Context, h dataset.Hand, parts []*partition) (reports []dataset.Report, err error) {
	_, out := w.m.Dims()
	k := uint64(w.pass.Folds)
	augment := w.pass.Augment != nil
	dealer := w.pass.Dealer()
	var hashes []uint64
	turn := 0
	for shard, source := range w.pass.Data.Ahead(ctx, h.Shards) {
		report, err := w.lane.Read(ctx, &w.pass.Pass, shard, source, w.pass.Target.Label(), func(at folds.Place, b *rows.Block) (err error) {
			if k > 0 || augment {
				// Copies are counted before every shard of a cut that tiles the files.
				if hashes, err = dealer.Hashes(hashes[:0], at, b); errors.Is(err, folds.ErrUncounted) {
					return w.pass.torn(at.File)
				} else if err != nil {
					return err
				}
			}
			limit := min(rows.Rows(b.D), rows.OfFeatures(out))
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

// partition is one partition in one round.
type partition struct {
	walk    *walk
	number  int
	beside  int         // how many go on at the same time, with this one
	before  []keptBlock // as an earlier round has seen them
	blocks  []keptBlock // as this one does
	filling [2]*batch   // rows to learn from, and rows held out
	counted [2]int      // batches sent
	todo    chan *batch
	back    chan *batch // batches that can be filled again
	rows    int64
}

func side(held bool) int {
	if held {
		return 1
	}
	return 0
}

// add appends row i of a block to what the partition will get next.
func (p *partition) add(ctx context.Context, b *rows.Block, i int, held bool, hash uint64, limit int) error {
	f := &p.filling[side(held)]
	if *f == nil {
		*f = p.batch(b.D)
	}
	t := *f
	if t.rows.D != b.D { // of sparse files, where a block is as wide as its longest row
		return fmt.Errorf("epochs: a row of %d numbers behind rows of %d", b.D, t.rows.D)
	}
	t.rows.X = append(t.rows.X, b.Row(i)...)
	t.rows.Y = append(t.rows.Y, b.Y[i])
	if p.walk.pass.Augment != nil {
		t.hash = append(t.hash, hash)
	}
	if t.rows.N++; t.rows.N >= limit {
		return p.send(ctx, side(held))
	}
	return nil
}

// batch returns an empty one.
func (p *partition) batch(d int) *batch {
	b := new(batch)
	select {
	case b = <-p.back:
	default:
	}
	b.rows.Reset(d)
	b.hash = b.hash[:0]
	return b
}

// send hands over what was filled.
func (p *partition) send(ctx context.Context, side int) error {
	b := p.filling[side]
	if b == nil {
		return nil
	}
	p.filling[side] = nil
	b.held, b.index = side == 1, p.counted[side]
	p.counted[side]++
	select {
	case p.todo <- b:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run gives the worker its blocks: with known those that are kept, else those that
// come.
func (p *partition) run(ctx context.Context, known bool) error {
	w := p.walk
	own, err := w.own(p.number)
	if err != nil {
		return err
	}
	worker, err := w.round.Worker(p.number, own)
	if err != nil {
		return err
	}
	if t, ok := worker.(rounds.Threaded); ok {
		t.Threads(max(1, cap(w.slots)/p.beside))
	}
	if w.round.Reads() {
		if known {
			err = p.replay(ctx, worker)
		} else {
			err = p.follow(ctx, worker)
		}
	}
	if err != nil {
		return err
	}
	found, own, err := worker.End()
	if err != nil {
		return err
	}
	return w.store(p.number, found, own)
}

func (p *partition) replay(ctx context.Context, worker rounds.Worker) error {
	_, out := p.walk.m.Dims()
	for _, b := range p.before {
		p.rows += int64(b.n)
		err := p.walk.inSlot(func(*slot) error {
			return p.learn(worker, rounds.Block{N: b.n, D: out, Phi: b.phi, Y: b.y, Held: b.held, Index: b.index})
		})
		p.walk.lane.Add(transforms.RowsCached, int64(b.n))
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *partition) follow(ctx context.Context, worker rounds.Worker) error {
	w, whole := p.walk, false
	defer func() { w.cached.put(w.name, p.number, p.blocks, whole && p.before == nil) }()
	for b := range p.todo {
		p.rows += int64(b.rows.N)
		if err := w.inSlot(func(s *slot) error { return p.fold(worker, b, s) }); err != nil {
			return err
		}
		select {
		case p.back <- b:
		default:
		}
	}
	err := context.Cause(ctx) // why the rows ended, unless they did by themselves
	whole = err == nil
	return err
}

// fold takes rows to features, unless those are kept, and gives them to the worker.
func (p *partition) fold(worker rounds.Worker, b *batch, s *slot) error {
	w, n := p.walk, b.rows.N
	b.y = slices.Grow(b.y[:0], n)[:n]
	y := b.y
	for i, v := range b.rows.Y {
		y[i] = float32(v)
		if grid := w.pass.Target.Grid; grid != nil {
			y[i] = grid.Scaled(v)
		}
	}
	_, out := w.m.Dims()
	block := rounds.Block{N: n, D: out, Y: y, Held: b.held, Index: b.index}
	at := len(p.blocks)
	p.blocks = append(p.blocks, keptBlock{n: n, held: b.held, index: b.index})
	if at < len(p.before) && p.before[at].phi != nil {
		block.Phi = p.before[at].phi
		return p.learn(worker, block)
	}
	x := b.rows.X
	m := w.m
	if a := w.pass.Augment; a != nil && !b.held {
		in, changed := a.Images.Dims()
		if in != b.rows.D {
			return fmt.Errorf("epochs: images of %d numbers, rows of %d", in, b.rows.D)
		}
		s.x = slices.Grow(s.x[:0], n*changed)[:n*changed]
		a.Images.Apply(s.x, x, n, func(i int) uint64 { return b.hash[i] }, w.epoch)
		x, m = s.x, w.augmented
	}
	stop := w.lane.Clock(transforms.MapTime)
	bytes := 4 * int64(n) * int64(out+1)
	if w.pass.Augment == nil && p.before == nil && w.cached.reserve(w.name, bytes, w.keep) {
		k := &p.blocks[at]
		k.phi, k.y = blas.Make[float32](n*out), append([]float32(nil), y...)
		block.Phi = k.phi
	} else {
		s.phi = transforms.GrowFeatures(s.phi, n*out)
		block.Phi = s.phi
	}
	m.Apply(block.Phi, x, n)
	stop()
	return p.learn(worker, block)
}

func (p *partition) learn(worker rounds.Worker, b rounds.Block) error {
	defer p.walk.lane.Clock(transforms.LearnTime)()
	return worker.Fold(b)
}

package learn

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// partition is one partition in one round.
type partition struct {
	reader     *readerRound
	index      int
	concurrent int               // number of partitions that run at the same time, including this one
	cached     []iterative.Block // blocks that an earlier round has cached
	blocks     []iterative.Block // blocks that this round caches; without features where there was no room
	filling    [2]*batch         // training rows, and held-out rows
	counted    [2]int            // batches sent
	filled     chan *batch
	free       chan *batch // batches to reuse
	rows       int64
}

// batch holds rows on their way to a partition.
type batch struct {
	rows    rowio.Block
	hash    []uint64  // of the rows, if they are to be changed at random
	y       []float32 // labels as learners take them
	weights []float64 // likewise
	heldOut bool
	index   int
}

// sideOf returns the index of training rows or held-out rows in filling and counted.
func sideOf(held bool) int {
	if held {
		return 1
	}
	return 0
}

// add appends row i of a block to the next batch of the partition.
func (p *partition) add(ctx context.Context, b *rowio.Block, i int, held bool, hash uint64, limit int) error {
	f := &p.filling[sideOf(held)]
	if *f == nil {
		*f = p.batch(b.D)
	}
	t := *f
	if t.rows.D != b.D { // in sparse files, a block is as wide as its longest row
		return fmt.Errorf("learn: row has %d values, earlier rows have %d", b.D, t.rows.D)
	}
	t.rows.Append(b, i)
	if p.reader.pass.Augment != nil {
		t.hash = append(t.hash, hash)
	}
	if t.rows.N >= limit {
		return p.send(ctx, sideOf(held))
	}
	return nil
}

// batch returns an empty batch.
func (p *partition) batch(d int) *batch {
	b := new(batch)
	select {
	case b = <-p.free:
	default:
	}
	b.rows.Reset(d)
	b.hash = b.hash[:0]
	return b
}

// send sends the filled batch.
func (p *partition) send(ctx context.Context, side int) error {
	b := p.filling[side]
	if b == nil {
		return nil
	}
	p.filling[side] = nil
	b.heldOut, b.index = side == 1, p.counted[side]
	p.counted[side]++
	select {
	case p.filled <- b:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run gives the worker its blocks: the cached ones if known is true, otherwise those that arrive.
func (p *partition) run(ctx context.Context, known bool) error {
	r := p.reader
	var carried []byte
	var err error
	if r.number > 0 {
		carried, err = storage.ReadState(ctx, CarriedFile(r.Scan.Pass, r.number-1, p.index), transforms.MaxState)
	}
	if err != nil {
		return err
	}
	if len(carried) == 0 {
		carried = nil // its worker carries no state
	}
	worker, err := r.round.Worker(p.index, carried)
	if err != nil {
		return err
	}
	if t, ok := worker.(iterative.Threaded); ok {
		t.Threads(max(1, cap(r.slots)/p.concurrent))
	}
	if r.round.Reads() {
		if known {
			err = p.replay(ctx, worker)
		} else {
			err = p.follow(ctx, worker)
		}
	}
	if err != nil {
		return err
	}
	partial, carried, err := worker.End()
	if err != nil {
		return fault.Wrap(fault.Data, err)
	}
	if err := storage.WriteState(ctx, CarriedFile(r.Scan.Pass, r.number, p.index), carried); err != nil {
		return err
	}
	return storage.WriteState(ctx, PartialFile(r.Scan.Pass, r.number, p.index), partial)
}

func (p *partition) replay(ctx context.Context, worker iterative.Worker) error {
	for _, b := range p.cached {
		p.rows += int64(b.N)
		err := p.reader.inSlot(func(*slot) error { return p.learn(worker, b) })
		p.reader.Add(transforms.RowsCached, int64(b.N))
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// follow passes the filled blocks to the worker, and frees them. If all rows were read, the blocks may be cached for
// the next round.
func (p *partition) follow(ctx context.Context, worker iterative.Worker) error {
	r, whole := p.reader, false
	defer func() { r.cached.put(r.name, p.index, p.blocks, whole && p.cached == nil) }()
	for b := range p.filled {
		p.rows += int64(b.rows.N)
		if err := r.inSlot(func(s *slot) error { return p.take(worker, b, s) }); err != nil {
			return err
		}
		select {
		case p.free <- b:
		default:
		}
	}
	err := context.Cause(ctx) // why the rows ended early, if they did
	whole = err == nil
	return err
}

// take maps rows to features, unless those are cached, and gives them to the worker.
func (p *partition) take(worker iterative.Worker, b *batch, s *slot) error {
	r, n := p.reader, b.rows.N
	b.scale(r.pass)
	_, out := r.m.Dims()
	block := iterative.Block{N: n, D: out, Y: b.y, Weights: b.weights, HeldOut: b.heldOut, Index: b.index}
	at := len(p.blocks)
	p.blocks = append(p.blocks, iterative.Block{N: n})
	if at < len(p.cached) && p.cached[at].Phi != nil {
		block.Phi = p.cached[at].Phi
		return p.learn(worker, block)
	}
	x, m := b.rows.X, r.m
	if a := r.pass.Augment; a != nil && !b.heldOut {
		in, changed := a.Images.Dims()
		if in != b.rows.D {
			return fmt.Errorf("learn: images have %d values, rows have %d", in, b.rows.D)
		}
		s.x = slices.Grow(s.x[:0], n*changed)[:n*changed]
		a.Images.Apply(s.x, x, n, func(i int) uint64 { return b.hash[i] }, r.number)
		x, m = s.x, r.augmented
	}
	stop := r.Clock(transforms.MapTime)
	if r.pass.Augment == nil && p.cached == nil && r.cached.reserve(r.name, bytesOf(block), r.cacheBytes) {
		block.Phi = blas.Make[float32](n * out)
		p.blocks[at] = block
		p.blocks[at].Y, p.blocks[at].Weights = slices.Clone(block.Y), slices.Clone(block.Weights)
	} else {
		s.phi = transforms.GrowFeatures(s.phi, n*out)
		block.Phi = s.phi
	}
	m.Apply(block.Phi, x, n)
	stop()
	return p.learn(worker, block)
}

// scale sets the labels and weights that learners take.
func (b *batch) scale(p *Pass) {
	b.y, b.weights = b.y[:0], b.weights[:0]
	for _, v := range b.rows.Y {
		if grid := p.Target.Grid; grid != nil {
			b.y = append(b.y, grid[0].Scaled(v))
		} else {
			b.y = append(b.y, float32(v))
		}
	}
	for _, w := range b.rows.Weights {
		b.weights = append(b.weights, w/p.MeanWeight)
	}
}

func (p *partition) learn(worker iterative.Worker, b iterative.Block) error {
	defer p.reader.Clock(transforms.LearnTime)()
	return fault.Wrap(fault.Data, worker.Take(b))
}

// featureCache holds features of the rows of one pass, so that rounds need not read and
// map them again. Which it holds depends on the available memory and on timing, and does
// not change results: what is not cached is computed again.
type featureCache struct {
	mu         sync.Mutex
	name       string // name of the features; features of another name are evicted
	used       int64  // bytes
	partitions map[int][]iterative.Block
}

// cacheOf returns the cache of a job in this process.
func cacheOf(w *transforms.Worker) *featureCache {
	c, _ := transforms.Cached(w, 1, "", func() (*featureCache, error) { return new(featureCache), nil })
	return c
}

// blocks returns the blocks of a partition, in order, or nil if it is not cached yet.
func (c *featureCache) blocks(name string, partition int) []iterative.Block {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.name != name {
		return nil
	}
	return c.partitions[partition]
}

// reserve reserves bytes for features, and reports whether the total stays within limit.
func (c *featureCache) reserve(name string, bytes, limit int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.name != name {
		c.name, c.used, c.partitions = name, 0, map[int][]iterative.Block{}
	}
	if c.used+bytes > limit {
		return false
	}
	c.used += bytes
	return true
}

// put stores the blocks of a partition whose rows were read to the end. If ok is false, or if
// another worker was faster, it drops them.
func (c *featureCache) put(name string, partition int, blocks []iterative.Block, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.name != name {
		return // and its memory was already released
	}
	if _, cached := c.partitions[partition]; ok && !cached {
		if blocks == nil {
			blocks = []iterative.Block{} // it was read, and has no rows
		}
		c.partitions[partition] = blocks
		return
	}
	for _, b := range blocks {
		if b.Phi != nil {
			c.used -= bytesOf(b)
		}
	}
}

// bytesOf returns the memory that a block with features takes.
func bytesOf(b iterative.Block) int64 { return 4*int64(b.N)*int64(b.D+1) + 8*int64(len(b.Weights)) }

// complete reports whether the features of all blocks are present.
func complete(blocks []iterative.Block) bool {
	for _, b := range blocks {
		if b.Phi == nil && b.N > 0 {
			return false
		}
	}
	return blocks != nil
}

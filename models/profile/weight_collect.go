package profile

import "github.com/bochner-ml/bochner/io/rows"

// WeightCollector collects rows until a block is full, for an exact sum to add. Rows with weights are
// collected separately for each weight while there are few weights, because a block of equal weights takes
// half the time or less. A sum does not depend on which rows share a block.
type WeightCollector struct {
	Weights   *WeightGrid // nil if rows have no weights
	Unlabeled bool        // labels are not collected

	// Full receives each full block, and the last ones, with the weights of the rows on the grid; nil
	// without a grid. It must not keep either.
	Full func(b *rows.Block, weights []int64)

	dim     int
	rest    batch
	equal   map[int64]*batch // by weight
	weights []int64          // scratch
}

// batch is a block of rows with their weights on the grid.
type batch struct {
	rows.Block
	weights []int64
}

// Limits on batches of equal weights: their number, and the bytes of their rows.
const (
	maxBatches     = 16
	maxBatchMemory = 16 << 20
)

// WeightCollectorBytes returns the most memory of a WeightCollector for rows of length d, with weights or
// without.
func WeightCollectorBytes(d int, weighted bool) int64 {
	block := 4 * int64(rows.Rows(d)) * int64(d)
	if weighted {
		return block * int64(1+batches(d))
	}
	return block
}

// batches returns the most batches of equal weights for rows of length d.
func batches(d int) int {
	return max(1, min(maxBatches, maxBatchMemory/(4*rows.Rows(d)*max(d, 1))))
}

// Add collects the rows of b from first up to end.
func (c *WeightCollector) Add(b *rows.Block, first, end int) {
	if c.dim != b.D {
		c.Flush()
		c.dim = b.D
		c.rest.reset(b.D)
		c.equal = nil
	}
	if c.Weights == nil {
		for first < end {
			n := min(end-first, rows.Rows(b.D)-c.rest.N)
			c.take(&c.rest, b, first, n)
			first += n
		}
		return
	}
	c.weights = c.Weights.Whole(c.weights[:0], b, first, end)
	for i, w := range c.weights {
		to, ok := c.equal[w]
		if !ok {
			to = &c.rest
			if len(c.equal) < batches(b.D) {
				if c.equal == nil {
					c.equal = map[int64]*batch{}
				}
				to = new(batch)
				to.reset(b.D)
				c.equal[w] = to
			}
		}
		to.weights = append(to.weights, w)
		c.take(to, b, first+i, 1)
	}
}

func (t *batch) reset(d int) {
	t.Reset(d)
	t.weights = t.weights[:0]
}

// take appends n rows to a batch, which must have room for them.
func (c *WeightCollector) take(t *batch, b *rows.Block, first, n int) {
	if t.N == 0 {
		t.Reserve()
	}
	t.X = append(t.X, b.X[first*b.D:(first+n)*b.D]...)
	if !c.Unlabeled {
		k := len(b.Y) / b.N // labels per row
		t.Y = append(t.Y, b.Y[first*k:(first+n)*k]...)
	}
	if t.N += n; t.N == rows.Rows(b.D) {
		c.flush(t)
	}
}

// flush passes a batch to Full unless it is empty.
func (c *WeightCollector) flush(t *batch) {
	c.Full(&t.Block, t.weights)
	t.reset(c.dim)
}

// Flush passes all remaining rows to Full.
func (c *WeightCollector) Flush() {
	for w, t := range c.equal {
		// Small batches share a block.
		if t.N < rows.Rows(c.dim)/2 {
			for i := range t.N {
				c.rest.weights = append(c.rest.weights, w)
				c.take(&c.rest, &t.Block, i, 1)
			}
			t.reset(c.dim)
		}
		if t.N > 0 {
			c.flush(t)
		}
	}
	if c.rest.N > 0 {
		c.flush(&c.rest)
	}
}

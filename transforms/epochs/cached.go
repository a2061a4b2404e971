package epochs

import "sync"

// cachedBlock is a block of features of a partition, in memory for later rounds.
type cachedBlock struct {
	n, index int
	heldOut  bool
	phi      []float32 // nil if there was no room
	y        []float32
	weights  []float64 // empty if rows have none
}

// featureCache holds features of the rows of one pass, so that rounds need not read and
// map them again. Which it holds depends on the available memory and on timing, and does
// not change results: what is not cached is computed again.
type featureCache struct {
	mu    sync.Mutex
	name  string // name of the features; features of another name are evicted
	used  int64  // bytes
	parts map[int][]cachedBlock
}

// part returns the blocks of a partition, in order, or nil if it is not cached yet.
func (c *featureCache) part(name string, partition int) []cachedBlock {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.name != name {
		return nil
	}
	return c.parts[partition]
}

// reserve reserves bytes for features, and reports whether the total stays within limit.
func (c *featureCache) reserve(name string, bytes, limit int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.name != name {
		c.name, c.used, c.parts = name, 0, map[int][]cachedBlock{}
	}
	if c.used+bytes > limit {
		return false
	}
	c.used += bytes
	return true
}

// put stores the blocks of a partition whose rows were read to the end. If ok is false, or if
// another worker was faster, it drops them.
func (c *featureCache) put(name string, partition int, blocks []cachedBlock, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.name != name {
		return // and its memory was already released
	}
	if _, there := c.parts[partition]; ok && !there {
		if blocks == nil {
			blocks = []cachedBlock{} // it was read, and has no rows
		}
		c.parts[partition] = blocks
		return
	}
	for _, b := range blocks {
		c.used -= b.bytes()
	}
}

func (b cachedBlock) bytes() int64 {
	if b.phi == nil {
		return 0
	}
	return 4*int64(len(b.phi)+len(b.y)) + 8*int64(len(b.weights))
}

// complete reports whether the features of all blocks are present.
func complete(blocks []cachedBlock) bool {
	for _, b := range blocks {
		if b.phi == nil && b.n > 0 {
			return false
		}
	}
	return blocks != nil
}

package epochs

import "sync"

// keptBlock is a block of features of a partition, kept in memory for the rounds
// to come.
type keptBlock struct {
	n, index int
	held     bool
	phi      []float32 // nil where there was no room
	y        []float32
}

// keeper keeps features of the rows of one pass, so that rounds need not read and
// map them again. Which are kept depends on the room there is and on who came
// first, and changes no result: what is not kept is made again, the same.
type keeper struct {
	mu    sync.Mutex
	name  string // of the features; those of another name make room
	used  int64  // bytes
	parts map[int][]keptBlock
}

// part returns the blocks of a partition, in order, or nil if it was not seen yet.
func (k *keeper) part(name string, partition int) []keptBlock {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.name != name {
		return nil
	}
	return k.parts[partition]
}

// reserve asks for room of so many bytes, of limit in all.
func (k *keeper) reserve(name string, bytes, limit int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.name != name {
		k.name, k.used, k.parts = name, 0, map[int][]keptBlock{}
	}
	if k.used+bytes > limit {
		return false
	}
	k.used += bytes
	return true
}

// put keeps the blocks of a partition that was walked over to its end; ok is false
// if it did not come to that, or if somebody else was faster.
func (k *keeper) put(name string, partition int, blocks []keptBlock, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.name != name {
		return // and so its room was given up already
	}
	if _, there := k.parts[partition]; ok && !there {
		if blocks == nil {
			blocks = []keptBlock{} // it was seen, and has no rows
		}
		k.parts[partition] = blocks
		return
	}
	for _, b := range blocks {
		k.used -= b.bytes()
	}
}

func (b keptBlock) bytes() int64 {
	if b.phi == nil {
		return 0
	}
	return 4 * int64(len(b.phi)+len(b.y))
}

// whole tells whether the features of all blocks are there.
func whole(blocks []keptBlock) bool {
	for _, b := range blocks {
		if b.phi == nil && b.n > 0 {
			return false
		}
	}
	return blocks != nil
}

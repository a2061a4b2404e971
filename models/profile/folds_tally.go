package profile

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/wire"
)

// maxContents is the largest number of different contents whose copies are numbered. If Few rows have more
// different labels than that, hardly any content repeats.
const maxContents = 1 << 12

// FoldPlace is where the rows of a shard begin: the index of a file, and an offset.
type FoldPlace struct {
	File  int   `json:"file"`
	Start int64 `json:"start"`
}

func comparePlaces(a, b FoldPlace) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Start, b.Start))
}

// FoldTally counts the contents of rows by shard. The zero value is empty.
type FoldTally struct{ shards []shardCounts }

type shardCounts struct {
	place  FoldPlace
	counts []contentCount // ascending by content
}

type contentCount struct {
	content uint64
	n       int64
}

// AddBlock counts the rows of a block of the shard at that place.
func (t *FoldTally) AddBlock(at FoldPlace, b *rows.Block, seed uint64, l FoldLabels) {
	if n := len(t.shards); n == 0 || t.shards[n-1].place != at {
		t.shards = append(t.shards, shardCounts{place: at})
	}
	s := &t.shards[len(t.shards)-1]
	for i := range b.N {
		content := l.contentOf(b, i, RowHash(seed, b.Row(i)))
		k, found := slices.BinarySearchFunc(s.counts, content, func(c contentCount, h uint64) int {
			return cmp.Compare(c.content, h)
		})
		switch {
		case found:
			s.counts[k].n++
		case len(s.counts) <= maxContents: // one more than the limit shows that there are too many
			s.counts = slices.Insert(s.counts, k, contentCount{content, 1})
		}
	}
}

// Merge adds the counts of other shards.
func (t *FoldTally) Merge(u *FoldTally) { t.shards = append(t.shards, u.shards...) }

// contents returns all contents; nil if there are more than maxContents.
func (t *FoldTally) contents() HashSet {
	all := map[uint64]struct{}{}
	for _, s := range t.shards {
		for _, c := range s.counts {
			if all[c.content] = struct{}{}; len(all) > maxContents {
				return nil
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Code codes the counts in the order of the shards.
func (t *FoldTally) Code(w *wire.Coder) {
	slices.SortFunc(t.shards, func(a, b shardCounts) int { return comparePlaces(a.place, b.place) })
	wire.Each(w, &t.shards, math.MaxInt32, func(s *shardCounts) {
		start := uint64(s.place.Start)
		s.place.File = w.Int(s.place.File, math.MaxInt32)
		w.Uint64(&start)
		w.Check(start <= 1<<62)
		s.place.Start = int64(start)
		wire.Each(w, &s.counts, maxContents+1, func(c *contentCount) {
			w.Uint64(&c.content)
			c.n = int64(w.Uvarint(uint64(c.n), maxShardRows))
		})
		w.Check(slices.IsSortedFunc(s.counts, func(a, b contentCount) int { return cmp.Compare(a.content, b.content) }))
	})
}

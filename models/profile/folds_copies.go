package profile

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
)

// Copies lists the different rows of a data set that has few of them, with their contents, and how many
// copies of each precede each shard. A nil *Copies means that the data set has many: see DistinctRows.Few.
type Copies struct {
	FrequentHashes
	Shards []PrecedingCopies `json:"shards,omitempty"` // of every cut of the data, if copies are numbered

	once     sync.Once
	rows     map[uint64]int
	contents map[uint64]int
	before   map[ShardStart][]byte
}

// PrecedingCopies has the number of copies of each content that precede a shard. The numbers are
// uvarints, to save memory.
type PrecedingCopies struct {
	ShardStart
	Before []byte `json:"before"`
}

// maxShardRows limits the rows of a data set.
const maxShardRows = 1 << 40

// NewCopies returns the Copies of a data set with few different rows, given the counts of their contents by
// shard, for one or more ways of cutting the data.
func NewCopies(few HashSet, cuts ...*ContentCounts) *Copies {
	c := &Copies{FrequentHashes: FrequentHashes{Rows: few, Mean: 1 / float64(len(few))}}
	if c.Contents = cuts[0].contents(); c.Contents == nil {
		return c
	}
	at := c.Contents.index()
	for _, cut := range cuts {
		slices.SortFunc(cut.shards, func(a, b shardCounts) int { return comparePlaces(a.place, b.place) })
		before := make([]int64, len(c.Contents))
		for _, s := range cut.shards {
			c.Shards = append(c.Shards, PrecedingCopies{ShardStart: s.place, Before: wire.Marshal(copyNumbers(before))})
			for _, k := range s.counts {
				before[at[k.content]] += k.n
			}
		}
	}
	slices.SortFunc(c.Shards, func(a, b PrecedingCopies) int { return comparePlaces(a.ShardStart, b.ShardStart) })
	// Cuts may share shards, with the same counts.
	c.Shards = slices.CompactFunc(c.Shards, func(a, b PrecedingCopies) bool { return a.ShardStart == b.ShardStart })
	return c
}

// MeanShare returns Mean, or 0 if c is nil.
func (c *Copies) MeanShare() float64 {
	if c == nil {
		return 0
	}
	return c.Mean
}

// Alias records that the shard at one place has the same rows as the shard at another.
func (c *Copies) Alias(at, also ShardStart) {
	i, found := slices.BinarySearchFunc(c.Shards, at, fromPlace)
	k, known := slices.BinarySearchFunc(c.Shards, also, fromPlace)
	if found && !known {
		c.Shards = slices.Insert(c.Shards, k, PrecedingCopies{also, c.Shards[i].Before})
	}
}

func fromPlace(s PrecedingCopies, at ShardStart) int { return comparePlaces(s.ShardStart, at) }

// index prepares the lookup of copies.
func (c *Copies) index() {
	c.once.Do(func() {
		c.rows, c.contents = c.Rows.index(), c.Contents.index()
		c.before = make(map[ShardStart][]byte, len(c.Shards))
		for _, s := range c.Shards {
			c.before[s.ShardStart] = s.Before
		}
	})
}

// copyNumbers has for each content the number of copies before a shard.
type copyNumbers []int64

func (n copyNumbers) Code(c *wire.Coder) {
	for i := range n {
		n[i] = int64(c.Uvarint(uint64(n[i]), maxShardRows))
	}
}

// FrequentHashes lists the rows whose copies are assigned to folds one by one. It is the part of Copies that
// does not depend on how the data is cut.
type FrequentHashes struct {
	Rows     HashSet `json:"rows"`               // by RowHash
	Contents HashSet `json:"contents,omitempty"` // the contents whose copies are numbered
	Mean     float64 `json:"mean"`               // mean share of the copies of one row in all rows: 1/len(Rows)
}

// Frequent returns the FrequentHashes of the few rows; nil without them.
func (c *Copies) Frequent() *FrequentHashes {
	if c == nil {
		return nil
	}
	return &c.FrequentHashes
}

// DistinctRows counts the different rows of a data set exactly, up to Few. The zero value is empty. The
// result does not depend on the order of the rows.
type DistinctRows struct{ hashes counts[uint64] }

// AddBlock counts the rows of a block by their RowHash under the seed.
func (d *DistinctRows) AddBlock(seed uint64, b *rowio.Block) {
	for i := 0; i < b.N && !d.hashes.Many; i++ {
		d.hashes.add(RowHash(seed, b.Row(i)), 1, Few)
	}
}

// Merge adds the rows of another part of the data.
func (d *DistinctRows) Merge(e *DistinctRows) { d.hashes.merge(&e.hashes, Few) }

// Few returns the hashes of the different rows if there are at most Few, and each occurs at least
// ten times on average among the n rows; otherwise nil.
func (d *DistinctRows) Few(n int64) HashSet {
	if d.hashes.Many || n < fewestCopies*int64(len(d.hashes.Rows)) {
		return nil
	}
	return slices.Sorted(maps.Keys(d.hashes.Rows))
}

// Code implements wire.Coded. It writes the hashes in ascending order.
func (d *DistinctRows) Code(c *wire.Coder) {
	d.hashes.code(c, Few, func(h *uint64, _ *int64) { c.Uint64(h) })
}

// maxContents is the largest number of different contents whose copies are numbered. If Few rows have more
// different labels than that, hardly any content repeats.
const maxContents = 1 << 12

// ShardStart is where the rows of a shard begin: the index of a file, and an offset.
type ShardStart struct {
	File  int   `json:"file"`
	Start int64 `json:"start"`
}

func comparePlaces(a, b ShardStart) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Start, b.Start))
}

// ContentCounts counts the contents of rows by shard. The zero value is empty.
type ContentCounts struct{ shards []shardCounts }

type shardCounts struct {
	place  ShardStart
	counts []contentCount // ascending by content
}

type contentCount struct {
	content uint64
	n       int64
}

// AddBlock counts the rows of a block of the shard at that place.
func (t *ContentCounts) AddBlock(at ShardStart, b *rowio.Block, seed uint64, l FoldLabels) {
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
func (t *ContentCounts) Merge(u *ContentCounts) { t.shards = append(t.shards, u.shards...) }

// contents returns all contents; nil if there are more than maxContents.
func (t *ContentCounts) contents() HashSet {
	all := map[uint64]struct{}{}
	for _, s := range t.shards {
		for _, c := range s.counts {
			all[c.content] = struct{}{}
			if len(all) > maxContents {
				return nil
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Code implements wire.Coded. It writes the counts in the order of the shards.
func (t *ContentCounts) Code(w *wire.Coder) {
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

package profile

import (
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/io/wire"
)

// Copies lists the different rows of a data set that has few of them, with their contents, and how many
// copies of each precede each shard. A nil *Copies means that the data set has many: see DistinctRows.Few.
type Copies struct {
	Rows     HashSet     `json:"rows"`               // by RowHash
	Contents HashSet     `json:"contents,omitempty"` // the contents whose copies are numbered
	Shards   []ShardFrom `json:"shards,omitempty"`   // of every cut of the data, if copies are numbered
	Mean     float64     `json:"mean"`               // mean share of the copies of one row in all rows: 1/len(Rows)

	once     sync.Once
	rows     map[uint64]int
	contents map[uint64]int
	before   map[FoldPlace][]byte
}

// ShardFrom has the number of copies of each content that precede a shard. The numbers are
// uvarints, to save memory.
type ShardFrom struct {
	FoldPlace
	Before []byte `json:"before"`
}

// maxShardRows limits the rows of a data set.
const maxShardRows = 1 << 40

// NewCopies returns the Copies of a data set with few different rows, given the counts of their contents by
// shard, for one or more ways of cutting the data.
func NewCopies(few HashSet, cuts ...*FoldTally) *Copies {
	c := &Copies{Rows: few, Mean: 1 / float64(len(few))}
	if c.Contents = cuts[0].contents(); c.Contents == nil {
		return c
	}
	at := c.Contents.index()
	for _, cut := range cuts {
		slices.SortFunc(cut.shards, func(a, b shardCounts) int { return comparePlaces(a.place, b.place) })
		before := make([]int64, len(c.Contents))
		for _, s := range cut.shards {
			c.Shards = append(c.Shards, ShardFrom{FoldPlace: s.place, Before: wire.Marshal(copyNumbers(before))})
			for _, k := range s.counts {
				before[at[k.content]] += k.n
			}
		}
	}
	slices.SortFunc(c.Shards, func(a, b ShardFrom) int { return comparePlaces(a.FoldPlace, b.FoldPlace) })
	// Cuts may share shards, with the same counts.
	c.Shards = slices.CompactFunc(c.Shards, func(a, b ShardFrom) bool { return a.FoldPlace == b.FoldPlace })
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
func (c *Copies) Alias(at, also FoldPlace) {
	i, found := slices.BinarySearchFunc(c.Shards, at, fromPlace)
	k, there := slices.BinarySearchFunc(c.Shards, also, fromPlace)
	if found && !there {
		c.Shards = slices.Insert(c.Shards, k, ShardFrom{also, c.Shards[i].Before})
	}
}

func fromPlace(s ShardFrom, at FoldPlace) int { return comparePlaces(s.FoldPlace, at) }

// index prepares the lookup of copies.
func (c *Copies) index() {
	c.once.Do(func() {
		c.rows, c.contents = c.Rows.index(), c.Contents.index()
		c.before = make(map[FoldPlace][]byte, len(c.Shards))
		for _, s := range c.Shards {
			c.before[s.FoldPlace] = s.Before
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

// Frequency lists the rows whose copies are assigned to folds one by one. It is the part of Copies that
// does not depend on how the data is cut.
type Frequency struct {
	Rows     HashSet `json:"rows"`               // by RowHash
	Contents HashSet `json:"contents,omitempty"` // the contents whose copies are numbered
	Mean     float64 `json:"mean"`               // as Copies.Mean
}

// Frequency returns the Frequency of the few rows; nil without them.
func (c *Copies) Frequency() *Frequency {
	if c == nil {
		return nil
	}
	return &Frequency{Rows: c.Rows, Contents: c.Contents, Mean: c.Mean}
}

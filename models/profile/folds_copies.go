package profile

import (
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/io/wire"
)

// Copies says which few rows there are, with which contents, and how many copies of each precede
// each shard. A nil *Copies means that there are more than Few different rows.
type Copies struct {
	Rows     HashSet     `json:"rows"`               // by Hash
	Contents HashSet     `json:"contents,omitempty"` // whose copies are numbered
	Shards   []ShardFrom `json:"shards,omitempty"`   // of every cut that is read, if contents are numbered
	Mean     float64     `json:"mean"`               // share of all rows that one of the few has with its copies

	once     sync.Once
	rows     map[uint64]int
	contents map[uint64]int
	before   map[FoldPlace][]byte
}

// ShardFrom holds what precedes a shard: the number of copies of each content, as
// uvarints, because there may be many shards.
type ShardFrom struct {
	FoldPlace
	Before []byte `json:"before"`
}

// maxShardRows bounds the rows of a data set.
const maxShardRows = 1 << 40

// NewCopies returns the copies of the few different rows of a data set, given the counts of their
// contents in the shards of one or more cuts of the data.
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
	// Cuts may share shards; what precedes those is the same.
	c.Shards = slices.CompactFunc(c.Shards, func(a, b ShardFrom) bool { return a.FoldPlace == b.FoldPlace })
	return c
}

// MeanShare returns the share of all rows that one of the few rows has with its copies, or 0
// without few rows.
func (c *Copies) MeanShare() float64 {
	if c == nil {
		return 0
	}
	return c.Mean
}

// Alias records that the rows of the shard at one place also begin at another.
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

// copyNumbers says of each content how many copies there are before a shard.
type copyNumbers []int64

func (n copyNumbers) Code(c *wire.Coder) {
	for i := range n {
		n[i] = int64(c.Uvarint(uint64(n[i]), maxShardRows))
	}
}

// Frequency names the rows whose copies are assigned to folds one by one: the part of Copies
// that does not depend on how the data is cut.
type Frequency struct {
	Rows     HashSet `json:"rows"`               // by Hash
	Contents HashSet `json:"contents,omitempty"` // whose copies are numbered
	Mean     float64 `json:"mean"`               // as Copies.Mean
}

// Frequency returns the few rows; nil without them.
func (c *Copies) Frequency() *Frequency {
	if c == nil {
		return nil
	}
	return &Frequency{Rows: c.Rows, Contents: c.Contents, Mean: c.Mean}
}

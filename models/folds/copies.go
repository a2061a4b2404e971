package folds

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/wire"
)

// Copies says which rows are frequent, which of their contents are counted, and how many
// copies of each precede each shard. A nil *Copies means that no rows are frequent.
type Copies struct {
	Rows     Set         `json:"rows"`               // frequent, by Hash
	Contents Set         `json:"contents,omitempty"` // counted
	Shards   []ShardFrom `json:"shards,omitempty"`   // of every cut that is read, if contents are counted
	Mean     float64     `json:"mean"`               // share of all rows that a frequent row has with its copies

	once     sync.Once
	rows     map[uint64]int
	contents map[uint64]int
	before   map[Place][]byte
}

// ShardFrom holds what precedes a shard: the number of copies of each content, as
// uvarints, because there may be many shards.
type ShardFrom struct {
	Place
	Before []byte `json:"before"`
}

// NewCopies returns the copies of n rows, given the frequent rows, candidates for the
// contents to be counted, and the exact counts of these in the shards of one or more cuts
// of the data.
//
// Which contents are counted follows from their exact counts: a content that is
// frequent enough is among the candidates (see Summary), whatever others are.
func NewCopies(n int64, frequent, candidates Set, cuts ...*Counts) *Copies {
	c := &Copies{Rows: frequent}
	if len(cuts) == 0 {
		return c
	}
	total := make([]int64, len(candidates))
	for _, s := range cuts[0].shards {
		for k, count := range s.counts {
			total[k] += count
		}
	}
	var kept []int
	for k, h := range candidates {
		if total[k] >= counted(n) {
			kept, c.Contents = append(kept, k), append(c.Contents, h)
		}
	}
	if len(kept) == 0 {
		return c
	}
	for _, cut := range cuts {
		slices.SortFunc(cut.shards, func(a, b shardCounts) int { return comparePlaces(a.place, b.place) })
		before := make([]int64, len(kept))
		for _, s := range cut.shards {
			from := ShardFrom{Place: s.place}
			from.Before = wire.Marshal(copyNumbers(before))
			for i, k := range kept {
				before[i] += s.counts[k]
			}
			c.Shards = append(c.Shards, from)
		}
	}
	slices.SortFunc(c.Shards, func(a, b ShardFrom) int { return comparePlaces(a.Place, b.Place) })
	// Cuts may share shards; what precedes those is the same.
	c.Shards = slices.CompactFunc(c.Shards, func(a, b ShardFrom) bool { return a.Place == b.Place })
	return c
}

// MeanShare returns the share of all rows that a frequent row has with its copies, or 0
// if no row is frequent.
func (c *Copies) MeanShare() float64 {
	if c == nil {
		return 0
	}
	return c.Mean
}

// Frequent reports whether the copies of a row with that Hash are assigned one by one. A nil Copies has none.
func (c *Copies) Frequent(hash uint64) bool {
	if c == nil {
		return false
	}
	_, found := slices.BinarySearch(c.Rows, hash)
	return found
}

// Alias records that the rows of the shard at one place also begin at another.
func (c *Copies) Alias(at, also Place) {
	i, found := slices.BinarySearchFunc(c.Shards, at, fromPlace)
	k, there := slices.BinarySearchFunc(c.Shards, also, fromPlace)
	if found && !there {
		c.Shards = slices.Insert(c.Shards, k, ShardFrom{also, c.Shards[i].Before})
	}
}

func fromPlace(s ShardFrom, at Place) int { return comparePlaces(s.Place, at) }

// index prepares the lookup of copies.
func (c *Copies) index() {
	c.once.Do(func() {
		c.rows, c.contents = c.Rows.index(), c.Contents.index()
		c.before = make(map[Place][]byte, len(c.Shards))
		for _, s := range c.Shards {
			c.before[s.Place] = s.Before
		}
	})
}

// ErrUncounted is returned if copies are requested before a shard of a cut that was not
// counted.
var ErrUncounted = errors.New("folds: copies were not counted")

// Assigner assigns the rows of shards to folds. It is for one reader: rows of a shard
// must come in order, starting with the shard's first.
type Assigner struct {
	seed   uint64
	copies *Copies // nil where no row is frequent
	labels Labels
	at     Place
	begun  bool
	next   []int64 // number of the next copy of each content
}

// NewAssigner returns an assigner of rows with those labels. Labels are ignored where no
// row is frequent.
func NewAssigner(seed uint64, c *Copies, l Labels) *Assigner {
	d := &Assigner{seed: seed, copies: c, labels: l}
	if c != nil {
		c.index()
		d.next = make([]int64, len(c.Contents))
	}
	return d
}

// Hashes appends the hashes that decide the folds of the rows of a block of the shard at
// that place: with K folds, a row is in fold hash mod K.
func (d *Assigner) Hashes(dst []uint64, at Place, b *rows.Block) ([]uint64, error) {
	if d.copies == nil {
		return rows.HashBlock(dst, d.seed^salt, b), nil
	}
	if !d.begun || d.at != at {
		if err := d.begin(at); err != nil {
			return nil, err
		}
	}
	for i := range b.N {
		h := Hash(d.seed, b.Row(i))
		if _, ok := d.copies.rows[h]; ok {
			h = d.assign(d.labels.contentOf(b, i, h))
		}
		dst = append(dst, h)
	}
	return dst, nil
}

// assign returns the hash of the next copy of a content. A content that is not counted goes
// to one fold as a whole.
func (d *Assigner) assign(content uint64) uint64 {
	i, ok := d.copies.contents[content]
	if !ok {
		return CopyHash(content, 0)
	}
	k := d.next[i]
	d.next[i]++
	return CopyHash(content, k)
}

// begin sets the copy numbers to those at the start of a shard.
func (d *Assigner) begin(at Place) error {
	d.at, d.begun = at, true
	if len(d.next) == 0 {
		return nil
	}
	before, ok := d.copies.before[at]
	if !ok {
		return fmt.Errorf("%w before %d of file %d", ErrUncounted, at.Start, at.File)
	}
	return wire.Unmarshal(copyNumbers(d.next), before)
}

// copyNumbers says of each content how many copies there are before a shard.
type copyNumbers []int64

func (n copyNumbers) Code(c *wire.Coder) {
	for i := range n {
		n[i] = int64(c.Uvarint(uint64(n[i]), maxRows))
	}
}

// Frequency names the rows whose copies are assigned to folds one by one: the part of Copies
// that does not depend on how the data is cut.
type Frequency struct {
	Rows     Set     `json:"rows"`               // frequent, by Hash
	Contents Set     `json:"contents,omitempty"` // counted
	Mean     float64 `json:"mean"`               // as Copies.Mean
}

// Frequency returns the frequent rows; nil if there are none.
func (c *Copies) Frequency() *Frequency {
	if c == nil {
		return nil
	}
	return &Frequency{Rows: c.Rows, Contents: c.Contents, Mean: c.Mean}
}

package folds

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/bochner-ml/bochner/io/rows"
)

// Place is where the rows of a shard begin: the index of a file, and an offset.
type Place struct {
	File  int   `json:"file"`
	Start int64 `json:"start"`
}

func comparePlaces(a, b Place) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Start, b.Start))
}

// Counts says how often each of some contents occurs in each shard. The zero value has no
// shards.
type Counts struct{ shards []shardCounts }

type shardCounts struct {
	place  Place
	counts []int64 // by content
}

// Tally counts contents of frequent rows by shard. Create it with NewTally.
type Tally struct {
	Counts
	frequent, contents map[uint64]int
	seed               uint64
	labels             Labels
}

// NewTally returns a tally of those contents of those rows.
func NewTally(frequent, contents Set, seed uint64, l Labels) *Tally {
	return &Tally{frequent: frequent.index(), contents: contents.index(), seed: seed, labels: l}
}

// AddBlock counts the rows of a block of the shard at that place.
func (t *Tally) AddBlock(at Place, b *rows.Block) {
	if n := len(t.shards); n == 0 || t.shards[n-1].place != at {
		t.shards = append(t.shards, shardCounts{at, make([]int64, len(t.contents))})
	}
	counts := t.shards[len(t.shards)-1].counts
	for i := range b.N {
		row := Hash(t.seed, b.Row(i))
		if _, ok := t.frequent[row]; !ok {
			continue
		}
		if k, ok := t.contents[t.labels.contentOf(b, i, row)]; ok {
			counts[k]++
		}
	}
}

// Merge adds the counts of other shards.
func (c *Counts) Merge(d *Counts) { c.shards = append(c.shards, d.shards...) }

// MarshalBinary encodes the counts in the order of the shards.
func (c *Counts) MarshalBinary() ([]byte, error) {
	slices.SortFunc(c.shards, func(a, b shardCounts) int { return comparePlaces(a.place, b.place) })
	b := binary.AppendUvarint(nil, uint64(len(c.shards)))
	for _, s := range c.shards {
		b = binary.AppendUvarint(b, uint64(s.place.File))
		b = binary.AppendUvarint(b, uint64(s.place.Start))
		b = binary.AppendUvarint(b, uint64(len(s.counts)))
		for _, n := range s.counts {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	return b, nil
}

// UnmarshalBinary sets c to the counts encoded in data, and fails unless it uses all of
// data.
func (c *Counts) UnmarshalBinary(data []byte) error {
	d := decoder{b: data}
	var out Counts
	for range d.number(int64(len(data))) {
		s := shardCounts{place: Place{File: int(d.number(1 << 31)), Start: d.number(1 << 62)}}
		s.counts = make([]int64, d.number(int64(min(len(d.b), contentCounters))))
		for i := range s.counts {
			s.counts[i] = d.number(maxRows)
		}
		out.shards = append(out.shards, s)
		if d.bad {
			return errDamaged
		}
	}
	if d.bad || len(d.b) > 0 {
		return errDamaged
	}
	*c = out
	return nil
}

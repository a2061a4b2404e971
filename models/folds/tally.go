package folds

import (
	"cmp"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/wire"
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

// Code codes the counts in the order of the shards.
func (c *Counts) Code(w *wire.Coder) {
	slices.SortFunc(c.shards, func(a, b shardCounts) int { return comparePlaces(a.place, b.place) })
	wire.Each(w, &c.shards, math.MaxInt32, func(s *shardCounts) {
		start := uint64(s.place.Start)
		s.place.File = w.Int(s.place.File, math.MaxInt32)
		w.Uint64(&start)
		w.Check(start <= 1<<62)
		s.place.Start = int64(start)
		wire.Each(w, &s.counts, contentCounters, func(n *int64) { *n = int64(w.Uvarint(uint64(*n), maxRows)) })
	})
}

package folds

import (
	"maps"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/wire"
)

// Census counts exactly the rows that a Summary has found to be candidates, and
// summarizes their contents. Create it with NewCensus.
type Census struct {
	rows     map[uint64]int64 // by Hash
	contents *Summary

	candidates map[uint64]int
	seed       uint64
	labels     Labels
}

// NewCensus returns an empty census of rows with those labels.
func NewCensus(candidates Set, seed uint64, l Labels) *Census {
	return &Census{
		rows: map[uint64]int64{}, contents: newSummary(contentCounters),
		candidates: candidates.index(), seed: seed, labels: l,
	}
}

// AddBlock counts the rows of b that are candidates by their hashes, which must be the
// hashes that the Summary was given.
func (c *Census) AddBlock(b *rows.Block, hashes []uint64) {
	for i, h := range hashes {
		if _, ok := c.candidates[h]; ok {
			row := Hash(c.seed, b.Row(i))
			c.rows[row]++
			c.contents.Add(c.labels.contentOf(b, i, row))
		}
	}
}

// Merge adds the counts of d.
func (c *Census) Merge(d *Census) {
	for h, n := range d.rows {
		c.rows[h] += n
	}
	c.contents.Merge(d.contents)
}

// Frequent returns the frequent rows among n rows, their total count, and the contents to
// count.
func (c *Census) Frequent(n int64) (frequent Set, copies int64, contents Set) {
	var out []uint64
	for h, count := range c.rows {
		if count >= Frequent(n) {
			out, copies = append(out, h), copies+count
		}
	}
	return newSet(out), copies, c.contents.Candidates(counted(n))
}

// Code codes the census. Equal counts have equal encodings up to the order in which contents were
// found.
func (c *Census) Code(w *wire.Coder) {
	hashes := slices.Sorted(maps.Keys(c.rows))
	n := int(w.Uvarint(uint64(len(hashes)), math.MaxInt32))
	if w.Check(n <= w.Left()/9); w.Reading() {
		hashes = make([]uint64, n)
		*c = Census{rows: make(map[uint64]int64, n), contents: new(Summary)}
	}
	for _, h := range hashes {
		w.Uint64(&h)
		if count := w.Uvarint(uint64(c.rows[h]), maxRows); w.Reading() {
			c.rows[h] = int64(count)
		}
	}
	w.Check(len(c.rows) == n)
	if c.contents != nil {
		c.contents.Code(w)
		w.Check(c.contents.limit == contentCounters)
	}
}

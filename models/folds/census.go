package folds

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/io/rows"
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

// MarshalBinary encodes the census. Equal counts have equal encodings up to the order in
// which contents were found.
func (c *Census) MarshalBinary() ([]byte, error) {
	b := binary.AppendUvarint(nil, uint64(len(c.rows)))
	for _, h := range slices.Sorted(maps.Keys(c.rows)) {
		b = binary.LittleEndian.AppendUint64(b, h)
		b = binary.AppendUvarint(b, uint64(c.rows[h]))
	}
	return c.contents.append(b), nil
}

// UnmarshalBinary sets c to the census encoded in b, and fails unless it uses all of b.
func (c *Census) UnmarshalBinary(b []byte) error {
	d := decoder{b: b}
	n := int(d.number(int64(len(b) / 9)))
	u := Census{rows: make(map[uint64]int64, n)}
	for range n {
		h := d.hash()
		u.rows[h] = d.number(maxRows)
	}
	contents := decodeSummary(&d)
	if d.bad || len(d.b) > 0 || contents.limit != contentCounters || len(u.rows) != n {
		return errDamaged
	}
	u.contents = &contents
	*c = u
	return nil
}

package profile

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/wire"
)

// ErrUncounted is returned for a shard whose preceding copies were not counted.
var ErrUncounted = errors.New("profile: copies were not counted")

// Assigner assigns the rows of shards to folds. Each reader needs its own. The rows of a shard must come in
// order, from the first.
type Assigner struct {
	seed   uint64
	rule   *FoldRule // nil if rows are assigned by their content
	copies *Copies   // nil if there are many different rows
	labels FoldLabels
	at     FoldPlace
	begun  bool
	next   []int64 // number of the next copy of each content

	own []uint64 // scratch of Contents
}

// NewAssigner returns an Assigner of rows by a rule or, if r is nil, by content. c has the copies of few
// different rows, or is nil; then the labels are ignored.
func NewAssigner(seed uint64, r *FoldRule, c *Copies, l FoldLabels) *Assigner {
	d := &Assigner{seed: seed, rule: r, labels: l}
	if c != nil && r == nil {
		c.index()
		d.copies, d.next = c, make([]int64, len(c.Contents))
	}
	return d
}

// Hashes returns, in dst if it is large enough, the hashes that decide the folds of the rows of a block:
// with K folds, a row is in fold hash mod K. By a rule K is FoldRule.Parts. at is the shard of the block.
func (d *Assigner) Hashes(dst []uint64, at FoldPlace, b *rows.Block) ([]uint64, error) {
	dst = rows.HashBlock(dst, d.seed^salt, b)
	switch {
	case d.rule != nil:
		if len(b.Keys) != b.N {
			return nil, fmt.Errorf("profile: %d keys of %d rows", len(b.Keys), b.N)
		}
		for i, key := range b.Keys {
			dst[i] = d.rule.hash(key, dst[i])
		}
	case d.copies != nil:
		if !d.begun || d.at != at {
			if err := d.begin(at); err != nil {
				return nil, err
			}
		}
		for i, h := range dst {
			if _, ok := d.copies.rows[h]; ok {
				dst[i] = d.assign(d.labels.contentOf(b, i, h))
			}
		}
	}
	return dst, nil
}

// Samples returns, in dst if it is large enough, hashes by which to sample rows of a block, given the
// hashes of their folds. They depend only on the content, even if groups or times decide the folds.
func (d *Assigner) Samples(dst, hashes []uint64, b *rows.Block) []uint64 {
	if d.rule == nil {
		return append(dst[:0], hashes...)
	}
	return rows.HashBlock(dst, d.seed^salt, b)
}

// Contents appends for each row of a block a hash of 8 bytes: of its numbers, labels and weight, and of the
// key that decides its fold. Equal rows have equal hashes.
func (d *Assigner) Contents(dst []byte, b *rows.Block) []byte {
	d.own = rows.HashBlock(d.own[:0], d.seed^salt, b)
	for i, h := range d.own {
		h = d.labels.contentOf(b, i, h)
		if len(b.Keys) > 0 {
			h = content(h, b.Keys[i])
		}
		dst = binary.LittleEndian.AppendUint64(dst, h)
	}
	return dst
}

// Pilot divides the rows that are not held out into n parts, and returns the part of a row, given the hash
// of its fold. It returns −1 without a rule.
func (d *Assigner) Pilot(hash uint64, n int) int {
	if d.rule == nil {
		return -1
	}
	return d.rule.pilot(hash, n)
}

// Learned reports whether models are fitted to a row while the first of that many folds is held
// out, given the hash of the row's fold. It is true with fewer than two folds.
func (d *Assigner) Learned(hash uint64, folds int) bool {
	if folds < 2 {
		return true
	}
	fold := hash % uint64(folds)
	return fold > 1 || fold == 1 && !(d.rule != nil && d.rule.Gap)
}

// assign returns the hash of the next copy of a content. All copies of a content that is not numbered have
// one hash, and so one fold.
func (d *Assigner) assign(content uint64) uint64 {
	i, ok := d.copies.contents[content]
	if !ok {
		return CopyHash(content, 0)
	}
	k := d.next[i]
	d.next[i]++
	return CopyHash(content, k)
}

// begin sets the copy numbers to their values at the start of a shard.
func (d *Assigner) begin(at FoldPlace) error {
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

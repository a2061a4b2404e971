package profile

import (
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/wire"
)

// DistinctRows counts the different rows of a data set exactly, up to Few. The zero value is empty. The
// result does not depend on the order of the rows.
type DistinctRows struct {
	hashes map[uint64]struct{}
	many   bool // more than Few; then hashes is nil
}

// AddBlock counts the rows of a block by their RowHash under the seed.
func (d *DistinctRows) AddBlock(seed uint64, b *rows.Block) {
	for i := 0; i < b.N && !d.many; i++ {
		d.add(RowHash(seed, b.Row(i)))
	}
}

func (d *DistinctRows) add(hash uint64) {
	if d.hashes == nil {
		d.hashes = map[uint64]struct{}{}
	}
	if d.hashes[hash] = struct{}{}; len(d.hashes) > Few {
		d.hashes, d.many = nil, true
	}
}

// Merge adds the rows of another part of the data.
func (d *DistinctRows) Merge(e *DistinctRows) {
	if e.many {
		d.hashes, d.many = nil, true
	}
	for h := range e.hashes {
		if !d.many {
			d.add(h)
		}
	}
}

// Few returns the hashes of the different rows if there are at most Few, and each occurs at least
// fewestCopies times on average among the n rows; otherwise nil.
func (d *DistinctRows) Few(n int64) HashSet {
	if d.many || n < fewestCopies*int64(len(d.hashes)) {
		return nil
	}
	return slices.Sorted(maps.Keys(d.hashes))
}

// Code codes the hashes in ascending order.
func (d *DistinctRows) Code(c *wire.Coder) {
	c.Bool(&d.many)
	hashes := slices.Sorted(maps.Keys(d.hashes))
	wire.Each(c, &hashes, Few, func(h *uint64) { c.Uint64(h) })
	if !c.Reading() {
		return
	}
	c.Check(slices.IsSorted(hashes) && len(slices.Compact(slices.Clone(hashes))) == len(hashes) &&
		!(d.many && len(hashes) > 0))
	for _, h := range hashes {
		d.add(h)
	}
}

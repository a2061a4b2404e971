package profile

import (
	"cmp"
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/io/wire"
)

// counts counts rows by key, as long as there are at most a number of different keys. The zero value is empty. The
// result does not depend on the order of the rows.
type counts[K cmp.Ordered] struct {
	Rows map[K]int64 // by key; nil if there are none, or Many
	Many bool        // there are more keys
}

func (c *counts[K]) add(key K, n int64, most int) {
	if c.Many {
		return
	}
	if c.Rows == nil {
		c.Rows = map[K]int64{}
	}
	if c.Rows[key] += n; len(c.Rows) > most {
		c.Rows, c.Many = nil, true
	}
}

// merge adds the rows of another part of the data.
func (c *counts[K]) merge(d *counts[K], most int) {
	if d.Many {
		c.Rows, c.Many = nil, true
	}
	for key, n := range d.Rows {
		c.add(key, n, most)
	}
}

// code codes the counts in the order of the keys, and each by entry.
func (c *counts[K]) code(w *wire.Coder, most int, entry func(key *K, n *int64)) {
	w.Bool(&c.Many)
	keys := slices.Sorted(maps.Keys(c.Rows))
	wire.Each(w, &keys, most, func(key *K) {
		n := c.Rows[*key]
		entry(key, &n)
		if w.Reading() {
			c.add(*key, n, most)
		}
	})
	w.Check(slices.IsSorted(keys) && len(keys) == len(c.Rows) && !(c.Many && len(keys) > 0))
}

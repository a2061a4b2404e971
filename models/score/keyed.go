package score

import (
	"cmp"
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/io/wire"
)

// Keyed has a tally of rows for each key: the value of a column, or the cluster of a group. If there are more
// keys than the limit it keeps none, so the result depends only on the set of keys. It is not safe for
// concurrent use.
type Keyed[K cmp.Ordered, P wire.Coded] struct {
	Most  int
	Empty func() P // returns a tally of no rows
	Parts map[K]P
	Many  bool // there were more keys than the limit
	key   func(*wire.Coder, *K)
}

// NewKeyed returns a Keyed without keys, for at most limit keys, each of which key codes.
func NewKeyed[K cmp.Ordered, P wire.Coded](limit int, key func(*wire.Coder, *K), empty func() P) Keyed[K, P] {
	return Keyed[K, P]{Most: limit, Empty: empty, Parts: map[K]P{}, key: key}
}

// Tally returns the tally of a key, which it adds if it is new; nil if there are too many keys.
func (k *Keyed[K, P]) Tally(key K) (p P) {
	p, found := k.Parts[key]
	switch {
	case found || k.Many:
		return p
	case len(k.Parts) == k.Most:
		k.Many, k.Parts = true, nil
		return p
	}
	p = k.Empty()
	k.Parts[key] = p
	return p
}

// merge adds the rows of c, which must have tallies of the same kind.
func (k *Keyed[K, P]) merge(c *Keyed[K, P]) {
	for key, p := range c.Parts {
		if tally := k.Tally(key); !k.Many {
			wire.Merge(tally, p)
		}
	}
	if c.Many {
		k.Many, k.Parts = true, nil
	}
}

// Keys returns the keys in order.
func (k *Keyed[K, P]) Keys() []K { return slices.Sorted(maps.Keys(k.Parts)) }

// Largest returns the keys in descending order of their rows.
func (k *Keyed[K, P]) Largest(rows func(P) int64) []K {
	keys := k.Keys()
	slices.SortStableFunc(keys, func(x, y K) int { return cmp.Compare(rows(k.Parts[y]), rows(k.Parts[x])) })
	return keys
}

// Code implements wire.Coded.
func (k *Keyed[K, P]) Code(c *wire.Coder) {
	other := NewKeyed(k.Most, k.key, k.Empty)
	if wire.Merged(c, &other, k.merge) {
		return
	}
	c.Bool(&k.Many)
	wire.Map(c, k.Parts, k.Most, func(key *K) { k.key(c, key) }, k.Empty, func(p P) {
		c.Check(!k.Many)
		p.Code(c)
	})
	if k.Many {
		k.Parts = nil
	}
}

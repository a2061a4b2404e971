package score

import (
	"cmp"
	"maps"
	"slices"

	"github.com/bochner-ml/bochner/io/wire"
)

// tally is a mergeable count of rows.
type tally[T any] interface {
	*T
	wire.Coded
	Merge(*T)
}

// Keyed has a tally of rows for each key: the value of a column, or the cluster of a group. If there are more
// keys than the limit it keeps none, so the result depends only on the set of keys. It is not safe for
// concurrent use.
type Keyed[K cmp.Ordered, T any, P tally[T]] struct {
	Most  int
	Empty func() P // returns a tally of no rows
	Parts map[K]P
	Many  bool // there were more keys than the limit
}

// NewKeyed returns a Keyed without keys, for at most limit keys.
func NewKeyed[K cmp.Ordered, T any, P tally[T]](limit int, empty func() P) Keyed[K, T, P] {
	return Keyed[K, T, P]{Most: limit, Empty: empty, Parts: map[K]P{}}
}

// Tally returns the tally of a key, which it adds if it is new; nil if there are too many keys.
func (k *Keyed[K, T, P]) Tally(key K) P {
	p := k.Parts[key]
	switch {
	case p != nil || k.Many:
		return p
	case len(k.Parts) == k.Most:
		k.Many, k.Parts = true, nil
		return nil
	}
	p = k.Empty()
	k.Parts[key] = p
	return p
}

// Merge adds the rows of c, which must have tallies of the same kind.
func (k *Keyed[K, T, P]) Merge(c *Keyed[K, T, P]) {
	for key, p := range c.Parts {
		if tally := k.Tally(key); tally != nil {
			tally.Merge(p)
		}
	}
	if c.Many {
		k.Many, k.Parts = true, nil
	}
}

// Keys returns the keys in order.
func (k *Keyed[K, T, P]) Keys() []K { return slices.Sorted(maps.Keys(k.Parts)) }

// Largest returns the keys in descending order of their rows.
func (k *Keyed[K, T, P]) Largest(rows func(P) int64) []K {
	keys := k.Keys()
	slices.SortStableFunc(keys, func(x, y K) int { return cmp.Compare(rows(k.Parts[y]), rows(k.Parts[x])) })
	return keys
}

// Code codes whether there are too many keys, and each key with its tally.
func (k *Keyed[K, T, P]) Code(c *wire.Coder, key func(*K)) {
	c.Bool(&k.Many)
	wire.Map(c, k.Parts, k.Most, key, k.Empty, func(p P) {
		c.Check(!k.Many)
		p.Code(c)
	})
	if k.Many {
		k.Parts = nil
	}
}

// MergeAll merges each element of b into the same element of a.
func MergeAll[T any, P interface {
	*T
	Merge(*T)
}](a, b []T) {
	for i := range a {
		P(&a[i]).Merge(&b[i])
	}
}

// addCounts adds each element of b to the same element of a.
func addCounts(a, b []int64) {
	for i, n := range b {
		a[i] += n
	}
}

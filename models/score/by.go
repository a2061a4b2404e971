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

// By has a tally of rows for each key: the value of a column, or the cluster of a group. If there are more
// keys than the limit it keeps none, so the result depends only on the set of keys. It is not safe for
// concurrent use.
type By[K cmp.Ordered, T any, P tally[T]] struct {
	Most  int
	Empty func() P // returns a tally of no rows
	Parts map[K]P
	Many  bool // there were more keys than the limit
}

// NewBy returns a By without keys, for at most most keys.
func NewBy[K cmp.Ordered, T any, P tally[T]](most int, empty func() P) By[K, T, P] {
	return By[K, T, P]{Most: most, Empty: empty, Parts: map[K]P{}}
}

// Of returns the tally of a key, which it adds if it is new; nil if there are too many keys.
func (b *By[K, T, P]) Of(key K) P {
	p := b.Parts[key]
	switch {
	case p != nil || b.Many:
		return p
	case len(b.Parts) == b.Most:
		b.Many, b.Parts = true, nil
		return nil
	}
	p = b.Empty()
	b.Parts[key] = p
	return p
}

// Merge adds the rows of c, which must have tallies of the same kind.
func (b *By[K, T, P]) Merge(c *By[K, T, P]) {
	for key, p := range c.Parts {
		if own := b.Of(key); own != nil {
			own.Merge(p)
		}
	}
	if c.Many {
		b.Many, b.Parts = true, nil
	}
}

// Keys returns the keys in order.
func (b *By[K, T, P]) Keys() []K { return slices.Sorted(maps.Keys(b.Parts)) }

// Largest returns the keys in descending order of their rows.
func (b *By[K, T, P]) Largest(rows func(P) int64) []K {
	keys := b.Keys()
	slices.SortStableFunc(keys, func(x, y K) int { return cmp.Compare(rows(b.Parts[y]), rows(b.Parts[x])) })
	return keys
}

// Code codes whether there are too many keys, and each key with its tally.
func (b *By[K, T, P]) Code(c *wire.Coder, key func(*K)) {
	c.Bool(&b.Many)
	wire.Map(c, b.Parts, b.Most, key, b.Empty, func(p P) {
		c.Check(!b.Many)
		p.Code(c)
	})
	if b.Many {
		b.Parts = nil
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

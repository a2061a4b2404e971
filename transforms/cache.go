package transforms

import (
	"context"
	"sync"
)

// cache keeps the last few things that were loaded under names that never change
// their content, so that the lanes of a process share one copy.
type cache[T any] struct {
	load func(ctx context.Context, name string) (T, error)
	keep int

	mu      sync.Mutex
	order   []string // from oldest use to newest
	entries map[string]*entry[T]
}

type entry[T any] struct {
	once  sync.Once
	value T
	err   error
}

func newCache[T any](keep int, load func(context.Context, string) (T, error)) *cache[T] {
	return &cache[T]{load: load, keep: keep, entries: map[string]*entry[T]{}}
}

// get returns what load gives for the name. Only one caller loads it while the
// others wait; a failure is not kept.
func (c *cache[T]) get(ctx context.Context, name string) (T, error) {
	c.mu.Lock()
	e := c.entries[name]
	if e == nil {
		e = &entry[T]{}
		c.entries[name] = e
		if len(c.entries) > c.keep {
			delete(c.entries, c.order[0])
			c.order = c.order[1:]
		}
		c.order = append(c.order, name)
	}
	c.mu.Unlock()
	e.once.Do(func() { e.value, e.err = c.load(ctx, name) })
	if e.err != nil {
		c.mu.Lock()
		if c.entries[name] == e {
			delete(c.entries, name)
			for i, n := range c.order {
				if n == name {
					c.order = append(c.order[:i:i], c.order[i+1:]...)
					break
				}
			}
		}
		c.mu.Unlock()
	}
	return e.value, e.err
}

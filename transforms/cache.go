package transforms

import (
	"context"
	"slices"
	"sync"
)

// cache keeps the few things that were asked for last, of those that are loaded
// under names that never change their content, so that the lanes of a process
// share one copy.
type cache[T any] struct {
	load func(ctx context.Context, name string) (T, error)
	keep int

	mu      sync.Mutex
	entries []*entry[T] // at most keep, from the one not asked for longest
}

type entry[T any] struct {
	name  string
	value func() (T, error) // loads it when called first
}

func newCache[T any](keep int, load func(context.Context, string) (T, error)) *cache[T] {
	return &cache[T]{load: load, keep: keep}
}

// get returns what load gives for the name. Only one caller loads it while the
// others wait; a failure or panic comes to all of them, and is not kept.
func (c *cache[T]) get(ctx context.Context, name string) (T, error) {
	e := c.entry(ctx, name)
	ok := false
	defer func() {
		if !ok {
			c.drop(e)
		}
	}()
	value, err := e.value()
	ok = err == nil
	return value, err
}

// entry returns the entry of that name, and makes it where there is none.
func (c *cache[T]) entry(ctx context.Context, name string) *entry[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.entries, func(e *entry[T]) bool { return e.name == name })
	var e *entry[T]
	if i >= 0 {
		e = c.entries[i]
		c.entries = slices.Delete(c.entries, i, i+1)
	} else {
		e = &entry[T]{name, sync.OnceValues(func() (T, error) { return c.load(ctx, name) })}
	}
	if len(c.entries) == c.keep {
		c.entries = slices.Delete(c.entries, 0, 1)
	}
	c.entries = append(c.entries, e)
	return e
}

func (c *cache[T]) drop(e *entry[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.entries, e); i >= 0 {
		c.entries = slices.Delete(c.entries, i, i+1)
	}
}

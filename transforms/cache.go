package transforms

import (
	"slices"
	"sync"
)

// Cache holds the most recently used of several values that are loaded by name, so that
// the lanes of a process share one copy. The value of a name must never change.
type Cache[T any] struct {
	Size int // largest number of values; 0 means 1

	mu      sync.Mutex
	entries []*entry[T] // at most Size, least recently used first
}

type entry[T any] struct {
	name  string
	value func() (T, error) // loads the value on the first call
}

// Get returns the value of a name, which it loads with load unless it is cached. Of several
// concurrent callers, one loads the value while the others wait. All of them get its error
// or panic, which is not cached.
func (c *Cache[T]) Get(name string, load func() (T, error)) (T, error) {
	e := c.entry(name, load)
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

// entry returns the entry of that name, and creates it if there is none.
func (c *Cache[T]) entry(name string, load func() (T, error)) *entry[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.entries, func(e *entry[T]) bool { return e.name == name })
	var e *entry[T]
	if i >= 0 {
		e = c.entries[i]
		c.entries = slices.Delete(c.entries, i, i+1)
	} else {
		e = &entry[T]{name, sync.OnceValues(load)}
	}
	if len(c.entries) == max(c.Size, 1) {
		c.entries = slices.Delete(c.entries, 0, 1)
	}
	c.entries = append(c.entries, e)
	return e
}

func (c *Cache[T]) drop(e *entry[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.entries, e); i >= 0 {
		c.entries = slices.Delete(c.entries, i, i+1)
	}
}

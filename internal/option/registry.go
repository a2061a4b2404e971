package option

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Registry holds things of one kind. Its methods may be called at the same time.
type Registry[T any] struct {
	kind  string // for messages
	mu    sync.RWMutex
	byKey map[string]T      // by name
	names map[string]string // by name and alias
	types map[reflect.Type]string
}

// NewRegistry returns an empty registry of things of a kind, such as "kernel".
func NewRegistry[T any](kind string) *Registry[T] {
	return &Registry[T]{kind: kind, byKey: map[string]T{}, names: map[string]string{}, types: map[reflect.Type]string{}}
}

// Add registers a thing under its name and aliases and, unless options is nil, under the
// type of its options. It panics if a name is empty, or if a name or the type is taken.
func (r *Registry[T]) Add(thing T, options any, name string, aliases ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := append([]string{name}, aliases...)
	for _, n := range names {
		if r.names[n] != "" || n == "" {
			panic(fmt.Sprintf("option: register %s: the name %q is empty or already registered", r.kind, n))
		}
	}
	if options != nil {
		t := reflect.TypeOf(options)
		if other := r.types[t]; other != "" {
			panic(fmt.Sprintf("option: register %s %q: %v are the options of %q", r.kind, name, t, other))
		}
		r.types[t] = name
	}
	for _, n := range names {
		r.names[n] = name
	}
	r.byKey[name] = thing
}

// All returns the things, sorted by name.
func (r *Registry[T]) All() (all []T) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(r.byKey)) {
		all = append(all, r.byKey[name])
	}
	return all
}

// Names returns the names, sorted, without aliases.
func (r *Registry[T]) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.byKey))
}

// Find returns the thing with the given name or alias.
func (r *Registry[T]) Find(name string) (thing T, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	thing, ok = r.byKey[r.names[name]]
	return thing, ok
}

// Lookup is Find with an error that lists the names to choose from.
func (r *Registry[T]) Lookup(name string, have []string) (T, error) {
	thing, ok := r.Find(name)
	if ok {
		return thing, nil
	}
	return thing, fmt.Errorf("unknown %s %q%s; have %s", r.kind, name, DidYouMean(name, have),
		strings.Join(have, ", "))
}

// Of returns the thing whose options have the type of the given ones. It panics if there
// is none.
func (r *Registry[T]) Of(options any) T {
	r.mu.RLock()
	defer r.mu.RUnlock()
	name, ok := r.types[reflect.TypeOf(options)]
	if !ok {
		panic(fmt.Sprintf("option: no %s has options of type %T; register it", r.kind, options))
	}
	return r.byKey[name]
}

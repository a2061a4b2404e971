package objects

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/bochner-ml/bochner/io/storage"
)

// List implements storage.Scheme.
func (s *Store) List(ctx context.Context, pattern string) ([]storage.Object, error) {
	o, err := Parse(pattern)
	if err != nil {
		return nil, err
	}
	if o.Name == "" || strings.HasSuffix(pattern, "/") {
		return nil, storage.DirectoryError(strings.TrimRight(pattern, "/"))
	}
	exact, err := s.Stat(ctx, o.String())
	if err == nil {
		return []storage.Object{exact}, nil
	}
	if !missing(err) {
		return nil, err
	}
	first := strings.IndexAny(o.Name, `*?[\`)
	if first < 0 {
		if first, err := s.first(ctx, o); err == nil && first != "" {
			return nil, storage.DirectoryError(pattern)
		}
		return nil, err
	}
	matches, err := storage.Matcher(o.Name)
	if err != nil {
		return nil, err
	}
	q := Query{Prefix: o.Name[:first]}
	if !strings.Contains(o.Name, "**") && !strings.Contains(o.Name[first:], "/") {
		q.Delimiter = "/" // names further down cannot match
	}
	var objects []storage.Object
	err = s.Service.Each(ctx, o.Bucket, q, func(a *Attrs) bool {
		if a.Prefix == "" && matches(a.Name) && !strings.HasSuffix(a.Name, "/") {
			objects = append(objects, found(o.in(a.Name), a))
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, Answerf(storage.ErrNoMatch, "%v", storage.ErrNoMatch)
	}
	slices.SortFunc(objects, func(a, b storage.Object) int { return cmp.Compare(a.Name, b.Name) })
	return objects, nil
}

// first returns the name of an object in a directory, or "" if it has none.
func (s *Store) first(ctx context.Context, dir Name) (name string, err error) {
	q := Query{Prefix: dir.below(), Limit: 2} // one may be the directory's own, made by a console
	err = s.Service.Each(ctx, dir.Bucket, q, func(a *Attrs) bool {
		if a.Name != dir.below() {
			name = a.Name
		}
		return name == ""
	})
	return name, err
}

// Names implements storage.Store.
func (s *Store) Names(ctx context.Context, dir string) (names []string, err error) {
	o := resolved(dir)
	err = s.Service.Each(ctx, o.Bucket, Query{Prefix: o.below(), Delimiter: "/"}, func(a *Attrs) bool {
		if name := strings.TrimSuffix(cmp.Or(a.Prefix, a.Name)[len(o.below()):], "/"); name != "" {
			names = append(names, name)
		}
		return true
	})
	return names, err
}

// content returns the objects in a directory.
func (s *Store) content(ctx context.Context, dir Name) (all []*Attrs, err error) {
	err = s.Service.Each(ctx, dir.Bucket, Query{Prefix: dir.below(), Metadata: true}, func(a *Attrs) bool {
		if a.Name != dir.below() {
			all = append(all, a)
		}
		return true
	})
	return all, err
}

// Remove implements storage.Store.
func (s *Store) Remove(ctx context.Context, name string) error {
	o := resolved(name)
	var names []string
	if o.Name != "" {
		names = append(names, o.Name)
	}
	err := s.Service.Fence(ctx, o) // deletes incomplete uploads
	if err != nil {
		return err
	}
	err = s.Service.Each(ctx, o.Bucket, Query{Prefix: o.below()}, func(a *Attrs) bool {
		names = append(names, a.Name)
		return true
	})
	if err != nil {
		return err
	}
	return each(ctx, names, func(ctx context.Context, name string) error { return s.Service.Delete(ctx, o.in(name), "") })
}

// each calls request for each of the items, several at a time, and cancels the others after an error.
func each[T any](ctx context.Context, items []T, request func(context.Context, T) error) error {
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(ParallelRequests)
	for _, item := range items {
		tasks.Go(func() error { return request(ctx, item) })
	}
	return tasks.Wait()
}

// RemoveEmpty deletes the object that a console may have made for the directory itself, and no other,
// such as one that was written since the directory was seen to be empty.
func (s *Store) RemoveEmpty(ctx context.Context, dir, _ string) error {
	o := resolved(dir)
	if o.Name == "" {
		return nil
	}
	return s.Service.Delete(ctx, o.in(o.below()), "")
}
